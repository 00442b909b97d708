// The verbs that set up: `init` writes a configuration that can serve at once; `doctor` reports what keeps an
// installation from serving.

#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "cli/environment.h"
#include "cli/init_engines.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "core/digest.h"
#include "core/json.h"
#include "core/parallel.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/engines/index/local_engine.h"
#include "service/store/model_versions.h"

namespace metafuse::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownLeftOut = 5;

struct InitArguments {
  std::string folder;  ///< the folder to write into
  std::vector<std::string> documents;
  std::string base_url;
  std::string searxng;
  std::vector<std::string> engines;  ///< KIND=ADDRESS#NAME
  std::vector<std::string> presets;  ///< names or kinds of the catalogue
  std::vector<std::string> apis;     ///< URLs that answer a search
  bool has_vectors = true;
  std::string domain = "documents";
  std::string listen = "127.0.0.1:8080";
  std::string language;
};

constexpr int kUsualDepth = 30;
constexpr int kOwnDepth = 100;  ///< of lists from one's own index, which cost little

constexpr const char* kConfigurationText =
    R"(# Server configuration; paths start from this folder. `metafuse serve` finds it when it is started here,
# `metafuse config check` reports every mistake, and docs/api.md explains every key.
version: 1
listen: {listen}
default_domain: {domain}
templates: [templates/{domain}.yaml]
engines: [engines.yaml]
# {domain}.json, as `metafuse train --model models/{domain}.json` writes it. Without it lists are fused by RRF.
models: models
# Searches, clicks and judgments, from which `metafuse train --store` learns.
store: metafuse.db
reports: reports
# Judge results at /judge. Within seconds of a judgment or click a model is trained from all of them. It orders the
# results unless cross-validation shows it to be worse than the order before; once 30 held-out queries are judged, a
# test decides. A judged query shows its well-graded results first (judged_first: false switches that off).
learning:
  retrain_on_change: true
  automatic_promotion: true
{files}# The key itself is in admin.key; here is its SHA-256. Searching needs no key unless you add `needs_key: true`.
keys:
  - {{name: admin, sha256: "{digest}", roles: [admin, judge]}}
)";

constexpr const char* kLocalEngineText =
    R"(  # The index of your own files. After they change: metafuse index --database index.db {documents}
  # By the stems of words: "searches" finds "search".
  - name: local
    engine: local
    database: index.db
    weighting: ineb2
    timeout: 5.0
  # The same, with the words that the best results have in common added to the query.
  - name: expanded
    engine: local
    database: index.db
    weighting: ineb2
    expand: {{documents: 10, terms: 20, weight: 0.4}}
    timeout: 5.0
  # By parts of words, which also finds other endings, compounds and misspelt words.
  - name: parts
    engine: local
    database: index.db
    tokenizer: parts
    weighting: ineb2
    timeout: 5.0
  # By how similar titles and texts are as a whole, in words, stems and parts.
  - name: alike
    engine: local_cosine
    database: index.db
    timeout: 5.0
)";

constexpr const char* kVectorEngineText =
    R"(  # By what the files mean: vectors that latent semantic indexing learned from them.
  - name: meaning
    engine: local_vector
    database: index.db
    min_score: 0.1
    timeout: 5.0
)";

constexpr const char* kTemplatesText =
    R"(# How one question becomes several queries. Every template is one ranked list; training learns how far each can be
# trusted. Add, change and remove templates as your documents want it; docs/templates.md explains the language.
version: 1
domain: {domain}
depth: {depth}
slots:
  QUERY: {{required: true, description: "what you look for"}}
templates:
)";

constexpr const char* kLocalTemplatesText = R"(  - {id: any, engine: local, query: '{QUERY|any}'}
  - {id: expanded, engine: expanded, query: '{QUERY|any}'}
  - {id: title, engine: local, query: 'title : {QUERY|any}'}
  - {id: parts, engine: parts, query: '{QUERY|any}'}
  - {id: alike, engine: alike, query: '{QUERY}'}
  # only for queries of two to four words
  - {id: phrase, engine: local, query: '{QUERY|short|phrase}'}
  - {id: near, engine: local, query: '[NEAR({QUERY|short}, 5)]'}
)";

constexpr const char* kVectorTemplatesText = R"(  - {id: meaning, engine: meaning, query: '{QUERY}'}
)";

/// Quotes a word for the shell unless it is plain.
std::string shell_word(const std::string& text) {
  const bool is_plain = !text.empty() && text.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789/._-+:,@%") == std::string::npos;
  if (is_plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// If no option says what to search, asks on the terminal.
Result<void> ask_what_to_search(InitArguments& arguments) {
  if (!arguments.documents.empty() || !arguments.searxng.empty() || !arguments.engines.empty() ||
      !arguments.presets.empty() || !arguments.apis.empty())
    return {};
  if (::isatty(STDIN_FILENO) == 0)
    return fail(Code::usage,
                "say what to search: --documents FOLDER (HTML, Markdown, text, CSV or JSON lines), or "
                "--searxng URL, --engine KIND=ADDRESS#NAME, --api URL, --preset NAME, or several of them");
  std::cerr << "Folder of the documents to search (HTML, Markdown, text), the URL of a SearXNG, a web API's\n"
               "URL with a query in it (https://host/search?q=otter), or a name of `metafuse engines list`: ";
  std::string answer;
  std::getline(std::cin, answer);
  if (answer.empty()) return fail(Code::usage, "nothing to search was named");
  const bool is_url = answer.starts_with("http://") || answer.starts_with("https://");
  std::error_code error;
  if (is_url && answer.find('?') != std::string::npos)
    arguments.apis = {answer};
  else if (is_url)
    arguments.searxng = answer;
  else if (!fs::exists(answer, error) && find_preset(answer))
    arguments.presets = {answer};
  else
    arguments.documents = {answer};
  return {};
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return fail(Code::no_input, folder.string() + ": " + error.message() + "; name a writable folder");
  return {};
}

Result<void> write_secret(const fs::path& path, const std::string& text) {
  TRY_VOID(write_file(path.string(), ""));
  std::error_code error;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, error);
  if (error) return fail(Code::no_input, path.string() + ": " + error.message());
  std::ofstream out(path, std::ios::trunc);
  if (!(out << text << std::flush)) return fail(Code::try_again, path.string() + ": cannot write");
  return {};
}

/// The `files` key, with the folders of `documents`: the server hands out these files, because a browser
/// follows no file: link from a page.
std::string files_key(const InitArguments& a) {
  std::string folders;
  std::error_code error;
  for (const std::string& path : a.documents)
    if (a.base_url.empty() && fs::is_directory(path, error))
      folders += (folders.empty() ? "" : ", ") +
                 to_text(Json(fs::absolute(path, error).lexically_normal().string()));
  if (folders.empty()) return {};
  return "# Browsers do not open file: links in a page. The server hands out results that are below these "
         "folders, and nothing\n# else; without this line results show only their paths.\nfiles: [" +
         folders + "]\n";
}

Result<void> write_configuration(const InitArguments& a, const std::vector<InitEngine>& others,
                                 const fs::path& folder) {
  std::string documents;
  for (const std::string& path : a.documents) {
    std::error_code error;
    documents +=
        (documents.empty() ? "" : " ") + shell_word(fs::absolute(path, error).lexically_normal().string());
  }
  if (!a.base_url.empty()) documents += " --base-url " + shell_word(a.base_url);
  std::string engines =
      "# The engines that the templates ask. `metafuse engines try NAME QUERY` shows what one "
      "answers.\nengines:\n";
  std::string templates = fmt::format(kTemplatesText, fmt::arg("domain", a.domain),
                                      fmt::arg("depth", a.documents.empty() ? kUsualDepth : kOwnDepth));
  const bool has_vectors = a.has_vectors && !a.documents.empty();
  if (!documents.empty()) {
    documents += " --cosine --expandable";
    if (!a.language.empty()) documents += " --language " + a.language;
    if (has_vectors) documents += " --embedding lsi";
    engines += fmt::format(kLocalEngineText, fmt::arg("documents", documents));
    templates += kLocalTemplatesText;
  }
  if (has_vectors) {
    engines += kVectorEngineText;
    templates += kVectorTemplatesText;
  }
  for (const InitEngine& other : others) {
    engines += other.definition;
    templates += other.templates;
  }
  const std::string key = random_hex(24);
  TRY_VOID(write_secret(folder / "admin.key", key + "\n"));
  TRY_VOID(write_file((folder / "engines.yaml").string(), engines));
  TRY_VOID(write_file((folder / "templates" / (a.domain + ".yaml")).string(), templates));
  return write_file(
      (folder / "metafuse.yaml").string(),
      fmt::format(kConfigurationText, fmt::arg("listen", a.listen), fmt::arg("domain", a.domain),
                  fmt::arg("digest", sha256_hex(key)), fmt::arg("files", files_key(a))));
}

/// Indexes the documents. Without words in common, they get no vectors.
/// out: what to tell the user about the index
Result<std::string> index_documents(InitArguments& a, const std::string& database) {
  if (a.documents.empty()) return std::string();
  fetchers::IndexOptions options;
  options.language = a.language;
  options.has_cosine = true;
  options.keeps_terms = true;
  options.files.base_url = a.base_url;
  options.files.threads = hardware_threads();
  options.files.progress = terminal_progress("reading files");
  options.progress = terminal_progress("index");
  if (a.has_vectors) options.vectors.source = fetchers::VectorOptions::Source::lsi;
  options.vectors.is_optional = true;
  TRY(const auto report, fetchers::build_local_index(database, a.documents, options));
  a.has_vectors = report.dimensions > 0;
  for (std::size_t i = 0; i < std::min(kShownLeftOut, report.left_out.size()); ++i)
    std::cerr << "left out: " << report.left_out[i] << '\n';
  const std::string found = fmt::format(" with an index of {} documents", report.documents);
  return report.left_out.empty() ? found
                                 : found + fmt::format(" ({} files left out)", report.left_out.size());
}

Result<void> run_init(InitArguments& a) {
  TRY_VOID(ask_what_to_search(a));
  TRY_VOID(service::parse_listen(a.listen));
  if (!service::is_domain_name(a.domain))
    return fail(Code::usage, fmt::format("--domain \"{}\": 1 to 64 characters of a-z, 0-9 and -", a.domain));
  if (!a.language.empty()) TRY_VOID(fetchers::check_language(a.language));
  std::vector<std::string> asked = a.engines;
  if (!a.searxng.empty()) asked.insert(asked.begin(), "searx_engine=" + a.searxng);
  TRY(const auto others, init_engines(asked, a.presets, a.apis));
  const fs::path folder = a.folder;
  const std::string file = (folder / "metafuse.yaml").string();
  std::error_code error;
  if (fs::exists(file, error)) return fail(Code::no_input, file + ": already exists; name another folder");
  for (const char* part : {"templates", "models", "reports"}) TRY_VOID(make_folder(folder / part));
  TRY(const std::string found, index_documents(a, (folder / "index.db").string()));
  TRY_VOID(write_configuration(a, others.engines, folder));
  TRY(const auto config, read_server_configuration(file));
  // A key that the user has yet to set is not a mistake in the configuration written.
  if (others.secrets.empty()) TRY_VOID(service::load_snapshot(config, engine_loader()));
  for (const std::string& remark : others.remarks) std::cout << remark << '\n';
  std::string keys;
  for (const std::string& secret : others.secrets)
    keys += fmt::format("  export {}=...   # the engine's key\n", secret);
  std::cout << fmt::format(
      "{}: a configuration{}; the administrator's key is in admin.key.\nNext:\n"
      "  cd {}\n{}"
      "  metafuse search 'some words'\n"
      "  metafuse serve                # then open http://{}/\n",
      a.folder, found, shell_word(a.folder), keys, a.listen);
  return {};
}

}  // namespace

void add_init(CLI::App& app, Program& program) {
  auto [verb, a] =
      add_verb(app, "init", "write a configuration for your own documents or engines", run_init, program);
  verb.add_option("DIR", a.folder, "the folder to write; it is created if it does not exist")->required();
  verb.add_option("--documents", a.documents,
                  "folders or files to index: HTML, Markdown, text, CSV, JSON lines");
  verb.add_option("--base-url", a.base_url, "what the URLs of the documents begin with; default: file://");
  verb.add_option(
      "--language", a.language,
      "the language of the documents (en, de, ...); without this option it is found by their words");
  verb.add_flag_callback(
      "--stem-english", [&a] { a.language = "en"; }, "the same as --language en");
  verb.add_option("--searxng", a.searxng, "the URL of a SearXNG to ask, with its JSON format switched on");
  verb.add_option("--engine", a.engines,
                  "a search server, database or web API: KIND=ADDRESS#NAME, for example "
                  "postgresql=postgresql://reader@db/wiki#pages; KIND is an engine type of docs/engines.md")
      ->allow_extra_args(false);
  verb.add_option("--api", a.apis,
                  "a web API as you would ask it, with a query in it: "
                  "'https://api.example.org/search?q=otter'; it is requested once to find out where its "
                  "results are (JSON, XML, HTML)")
      ->allow_extra_args(false);
  verb.add_option(
          "--preset", a.presets,
          "an engine of the catalogue, or all of a kind that need no key: names of `metafuse engines list`")
      ->allow_extra_args(false);
  verb.add_flag("--vectors,!--no-vectors", a.has_vectors,
                "also search the documents by meaning, by vectors that are learned from them; the default");
  add_defaulted(verb, "--domain", a.domain, "a name for this kind of search: a-z, 0-9 and -");
  add_defaulted(verb, "--listen", a.listen, "HOST:PORT where the server will listen");
  verb.footer(
      "If nothing to search is given, it asks on a terminal.\n"
      "Examples:\n"
      "  metafuse init my-search --documents ~/Documents\n"
      "  metafuse init handbook --documents site/ --base-url https://handbook.example.org/ --domain "
      "handbook\n"
      "  metafuse init web --searxng http://127.0.0.1:8888\n"
      "  metafuse init papers --preset openalex --preset arxiv\n"
      "  metafuse init shop --api 'https://shop.example.org/api/search?q=kettle'\n"
      "  metafuse init wiki --engine postgresql=postgresql://reader@db/wiki#pages --engine "
      "solr=http://127.0.0.1:8983#wiki");
}

namespace {

struct DoctorArguments {
  ConfigChoice config;
};

/// One check of doctor: reports what it found, or what is wrong and how to fix it.
struct Check {
  const char* name;
  std::function<Result<std::string>()> look;
};

Result<std::string> look_at_folder(const std::string& path, const char* key) {
  if (path.empty() || path.starts_with("postgresql://")) return std::string("none in this configuration");
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return fail(Code::no_input, fmt::format("{}: the folder does not exist; make it: mkdir -p {}", path,
                                            shell_word(folder.string())));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return fail(Code::no_input,
                fmt::format("{}: this user may not write there; change the owner, or `{}` in the "
                            "configuration",
                            folder.string(), key));
  return path;
}

Result<std::string> look_at_port(const service::ServerConfig& config) {
  const std::string shown = fmt::format("{}:{}", config.listen_host, config.port);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed =
          ::getaddrinfo(config.listen_host.c_str(), std::to_string(config.port).c_str(), &hints, &found);
      failed != 0)
    return fail(Code::unavailable, fmt::format("{}: {}; correct `listen`", shown, ::gai_strerror(failed)));
  const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const int bound = socket < 0 ? -1 : ::bind(socket, found->ai_addr, found->ai_addrlen);
  const int number = errno;
  ::freeaddrinfo(found);
  if (socket >= 0) ::close(socket);
  if (bound == 0) return shown + " is free";
  return fail(Code::unavailable,
              fmt::format("{}: {}; if metafuse is not already serving there, change `listen`", shown,
                          std::generic_category().message(number)));
}

/// The index file that an engine searches within this process; empty for other engines.
std::string index_of(const fetchers::Engine& engine) {
  if (const auto* local = std::get_if<fetchers::LocalAccess>(&engine.access)) return local->database;
  if (const auto* vectors = std::get_if<fetchers::VectorAccess>(&engine.access)) return vectors->database;
  if (const auto* cosine = std::get_if<fetchers::CosineAccess>(&engine.access)) return cosine->database;
  return {};
}

Result<std::string> look_at_indexes(const service::ServerConfig& config) {
  std::set<std::string> indexes;
  for (const std::string& file : config.engines) {
    TRY(const auto engines, fetchers::read_engine_file(file));
    for (const fetchers::Engine& engine : engines.engines)
      if (const std::string index = index_of(engine); !index.empty() && !engine.is_disabled)
        indexes.insert(index);
  }
  for (const std::string& index : indexes) {
    TRY_VOID(fetchers::open_index(index));
  }
  return indexes.empty() ? std::string("none in this configuration")
                         : fmt::format("{} can be searched", indexes.size());
}

Result<std::string> look_at_shared_files(const service::ServerConfig& config) {
  for (const std::string& folder : config.files)
    if (::access(folder.c_str(), R_OK | X_OK) != 0)
      return fail(Code::no_input, folder +
                                      ": this user may not read it, so results there do not open; change the "
                                      "permissions, or `files` in the configuration");
  return config.files.empty()
             ? std::string("results that are files cannot be opened from the page")
             : fmt::format("below {} folders can be opened from the page", config.files.size());
}

/// Too few are no error: the server still serves, and refuses connections above the limit.
Result<std::string> look_at_open_files(const service::ServerConfig& config) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t wanted = config.limits.max_connections + 256;
  if (limit.rlim_cur >= wanted) return fmt::format("{} allowed, at most {} needed", limit.rlim_cur, wanted);
  return fmt::format(
      "{} allowed; limits.max_connections needs {}: raise the limit (ulimit -n {}) if you expect that many "
      "connections",
      limit.rlim_cur, wanted, wanted);
}

Result<std::string> look_at_clock() {
  constexpr std::int64_t kBuilt = 1735689600;  // 2025-01-01, before this program existed
  if (seconds_now() < kBuilt)
    return fail(Code::unavailable,
                "the clock shows a date before 2025; set it, because quotas and clicks depend on it");
  return std::string("plausible");
}

Result<std::string> look_at_key_file(const std::string& configuration) {
  const fs::path path = fs::path(configuration).parent_path() / "admin.key";
  std::error_code error;
  const fs::perms perms = fs::status(path, error).permissions();
  if (error || !fs::exists(path, error)) return std::string("no admin.key beside the configuration");
  if ((perms & (fs::perms::group_all | fs::perms::others_all)) != fs::perms::none)
    return fail(Code::no_input, fmt::format("{}: others may read it; run: chmod 600 {}", path.string(),
                                            shell_word(path.string())));
  return path.string() + " is readable only by its owner";
}

Result<void> run_doctor(const DoctorArguments& arguments) {
  TRY(const auto file, chosen_config(arguments.config));
  TRY(const auto config, read_server_configuration(file));
  const std::vector<Check> checks = {
      {"configuration", [&]() -> Result<std::string> { return file; }},
      {"what it names",
       [&]() -> Result<std::string> {
         TRY(const auto snapshot, service::load_snapshot(config, engine_loader()));
         return fmt::format("{} domains, {} engine files", snapshot->domains.size(), config.engines.size());
       }},
      {"indexes", [&] { return look_at_indexes(config); }},
      {"files", [&] { return look_at_shared_files(config); }},
      {"store", [&] { return look_at_folder(config.store, "store"); }},
      {"models", [&] { return look_at_folder(config.models.empty() ? "" : config.models + "/.", "models"); }},
      {"port", [&] { return look_at_port(config); }},
      {"open files", [&] { return look_at_open_files(config); }},
      {"clock", [] { return look_at_clock(); }},
      {"key", [&] { return look_at_key_file(file); }},
  };
  std::size_t failed = 0;
  for (const Check& check : checks) {
    const auto found = check.look();
    failed += found ? 0 : 1;
    std::cout << fmt::format("{} {:<14} {}\n",
                             found ? styled(STDOUT_FILENO, Style::good, "good  ")
                                   : styled(STDOUT_FILENO, Style::failure, "WRONG "),
                             check.name, found ? *found : found.error().text);
  }
  if (failed == 0) return {};
  return fail(Code::unavailable,
              fmt::format("{} of {} checks failed; each line says what to do", failed, checks.size()));
}

}  // namespace

void add_doctor(CLI::App& app, Program& program) {
  auto [verb, a] =
      add_verb(app, "doctor", "report what keeps an installation from serving", run_doctor, program);
  add_config_option(verb, a.config);
  verb.footer("Example:\n  metafuse doctor --config /etc/metafuse/metafuse.yaml");
}

}  // namespace metafuse::cli
