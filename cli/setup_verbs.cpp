// The verb `init`: writes a configuration that can serve at once, into a folder of one's own or for the
// installed service.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "cli/environment.h"
#include "cli/init_engines.h"
#include "cli/read_report.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "core/atomic_file.h"
#include "core/digest.h"
#include "core/json.h"
#include "core/parallel.h"
#include "core/text.h"
#include "core/text_file.h"
#include "fetchers/engines/index/index_words.h"
#include "fetchers/engines/index/local_engine.h"
#include "service/store/model_versions.h"

namespace metafuse::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostExamples = 3;
constexpr std::size_t kMostExampleBytes = 40;

struct InitArguments {
  std::string folder;      ///< the folder to write into
  std::string state;       ///< where the index, the store and the models lie; empty: in `folder`
  bool is_system = false;  ///< write for the installed service instead
  std::string root;        ///< in front of the service's folders, to prepare another root file system
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
  std::vector<std::string> examples;  ///< queries for the home page, from the documents
};

constexpr int kUsualDepth = 30;
constexpr int kOwnDepth = 100;  ///< of lists from one's own index, which cost little
/// k of RRF, chosen by bench/own_documents.py: the k that is best on four of five collections fuses the fifth
/// .009 below its best list in the mean, 60 does .015.
constexpr const char* kOwnRrf =
    "# Until a model is trained, a document gets 1 / (rrf_k + rank) from every list.\nrrf_k: 3\n";

constexpr const char* kConfigurationText =
    R"(# Server configuration; paths start from this folder. `metafuse serve` finds it when it is started here,
# `metafuse config check` reports every mistake, and `metafuse config keys` explains every key.
version: 1
listen: {listen}
default_domain: {domain}
templates: [templates/{domain}.yaml]
engines: [engines.yaml]
# {domain}.json, as `metafuse train --model models/{domain}.json` writes it. Without it lists are fused by RRF.
models: {state}models
# Searches, clicks and judgments, from which `metafuse train --store` learns.
store: {state}metafuse.db
reports: {state}reports
# Judge results at /judge. Within seconds of a judgment or click a model is trained from all of them. It orders the
# results unless cross-validation shows it to be worse than the order before; once 30 held-out queries are judged, a
# test decides. A judged query shows its well-graded results first (judged_first: false switches that off).
learning:
  retrain_on_change: true
  automatic_promotion: true
{documents}{files}# The key itself is in admin.key; here is its SHA-256. Searching needs no key unless you add `needs_key: true`.
keys:
  - {{name: admin, sha256: "{digest}", roles: [admin, judge]}}
)";

constexpr const char* kLocalEngineText =
    R"(  # The index of your own files, which the server keeps up to date (`documents:` in metafuse.yaml).
  # By the stems of words: "searches" finds "search".
  - name: local
    engine: local
    database: {state}index.db
    weighting: ineb2
    timeout: 5.0
  # The same, with the words that the best results have in common added to the query.
  - name: expanded
    engine: local
    database: {state}index.db
    weighting: ineb2
    expand: {{documents: 10, terms: 20, weight: 0.4}}
    timeout: 5.0
  # By parts of words, which also finds other endings, compounds and misspelt words.
  - name: parts
    engine: local
    database: {state}index.db
    tokenizer: parts
    weighting: ineb2
    timeout: 5.0
  # By how similar titles and texts are as a whole, in words, stems and parts.
  - name: alike
    engine: local_cosine
    database: {state}index.db
    timeout: 5.0
)";

constexpr const char* kVectorEngineText =
    R"(  # By what the files mean: vectors that latent semantic indexing learned from them.
  - name: meaning
    engine: local_vector
    database: {state}index.db
    min_score: 0.1
    timeout: 5.0
)";

constexpr const char* kTemplatesText =
    R"(# How one question becomes several queries. Every template is one ranked list; training learns how far each can be
# trusted. Add, change and remove templates as your documents want it; docs/templates.md explains the language. A label
# is what the pages call a list.
version: 1
domain: {domain}
# What these documents are: agents choose by it, and pages show it.
# description: Manuals and minutes of the workshop
depth: {depth}
{examples}{rrf}slots:
  QUERY: {{required: true, description: "what you look for"}}
templates:
)";

constexpr const char* kLocalTemplatesText =
    R"(  - {id: any, label: words, engine: local, query: '{QUERY|any}'}
  - {id: expanded, label: related words, engine: expanded, query: '{QUERY|any}'}
  # titles with all words of the query
  - {id: title, label: title, engine: local, query: 'title : {QUERY|all}'}
  - {id: parts, label: parts of words, engine: parts, query: '{QUERY|any}'}
  - {id: alike, label: similar text, engine: alike, query: '{QUERY}'}
  # only for queries of two to four words
  - {id: phrase, label: phrase, engine: local, query: '{QUERY|short|phrase}'}
  - {id: near, label: words close together, engine: local, query: '[NEAR({QUERY|short}, 5)]'}
)";

constexpr const char* kVectorTemplatesText =
    R"(  - {id: meaning, label: meaning, engine: meaning, query: '{QUERY}'}
)";

/// If no option says what to search, asks on the terminal.
Result<void> ask_what_to_search(InitArguments& arguments) {
  if (!arguments.documents.empty() || !arguments.searxng.empty() || !arguments.engines.empty() ||
      !arguments.presets.empty() || !arguments.apis.empty())
    return {};
  if (::isatty(STDIN_FILENO) == 0)
    return fail(
        Code::usage,
        "say what to search: --documents FOLDER (HTML, Markdown, text, PDF, Office, mail and more), or "
        "--searxng URL, --engine KIND=ADDRESS#NAME, --api URL, --preset NAME, or several of them");
  std::cerr << "Folder of the documents to search, the URL of a SearXNG, a web API's\n"
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

/// The `documents` key: what the server reads into the index.
std::string documents_key(const InitArguments& a) {
  std::string paths;
  std::error_code error;
  for (const std::string& path : a.documents) {
    if (path == "-") return {};
    paths +=
        (paths.empty() ? "" : ", ") + to_text(Json(fs::absolute(path, error).lexically_normal().string()));
  }
  if (paths.empty()) return {};
  const std::string base = a.base_url.empty() ? "" : ", base_url: " + to_text(Json(a.base_url));
  return fmt::format(
      "# The server reads new and changed files into the index by itself. Programs add documents with\n"
      "# PUT /v1/documents/{}.\ndocuments:\n  - {{index: {}index.db, folders: [{}], every: 10m{}}}\n",
      a.domain, a.state, paths, base);
}

/// Titles of two to four plain words, from all over the index, as examples of what can be searched.
std::vector<std::string> example_queries(const std::string& database) {
  const auto known = fetchers::read_index_words(database);
  std::vector<std::string> fitting, out;
  if (!known) return out;
  for (const std::string& title : known->titles) {
    const auto blanks = std::count(title.begin(), title.end(), ' ');
    const bool is_plain = std::all_of(title.begin(), title.end(), [](char c) {
      return is_ascii_letter_or_digit(c) || c == ' ' || static_cast<unsigned char>(c) >= 0x80;
    });
    if (is_plain && blanks >= 1 && blanks <= 3 && title.size() <= kMostExampleBytes) fitting.push_back(title);
  }
  for (std::size_t i = 1; i <= kMostExamples && fitting.size() > kMostExamples; ++i)
    out.push_back(fitting[i * fitting.size() / (kMostExamples + 1)]);
  return out;
}

/// The `examples` key of a templates file; empty without examples.
std::string examples_key(const std::vector<std::string>& examples) {
  if (examples.empty()) return {};
  JsonArray items;
  for (const std::string& example : examples) items.emplace_back(example);
  return "# Queries that the home page offers.\nexamples: " + to_text(items) + "\n";
}

fs::path templates_file(const InitArguments& a) {
  return fs::path(a.folder) / "templates" / (a.domain + ".yaml");
}

Result<void> write_configuration(const InitArguments& a, const std::vector<InitEngine>& others,
                                 const fs::path& folder) {
  std::string engines =
      "# The engines that the templates ask. `metafuse engines try NAME QUERY` shows what one "
      "answers.\nengines:\n";
  std::string templates = fmt::format(kTemplatesText, fmt::arg("domain", a.domain),
                                      fmt::arg("depth", a.documents.empty() ? kUsualDepth : kOwnDepth),
                                      fmt::arg("rrf", a.documents.empty() ? "" : kOwnRrf),
                                      fmt::arg("examples", examples_key(a.examples)));
  const bool has_vectors = a.has_vectors && !a.documents.empty();
  if (!a.documents.empty()) {
    engines += fmt::format(kLocalEngineText, fmt::arg("state", a.state));
    templates += kLocalTemplatesText;
  }
  if (has_vectors) {
    engines += fmt::format(kVectorEngineText, fmt::arg("state", a.state));
    templates += kVectorTemplatesText;
  }
  for (const InitEngine& other : others) {
    engines += other.definition;
    templates += other.templates;
  }
  const std::string key = random_hex(24);
  TRY_VOID(write_file((folder / "admin.key").string(), key + "\n", FileAccess::owner));
  TRY_VOID(write_file((folder / "engines.yaml").string(), engines));
  TRY_VOID(write_file(templates_file(a).string(), templates));
  return write_file((folder / "metafuse.yaml").string(),
                    fmt::format(kConfigurationText, fmt::arg("listen", to_text(Json(a.listen))),
                                fmt::arg("domain", a.domain), fmt::arg("digest", sha256_hex(key)),
                                fmt::arg("documents", documents_key(a)), fmt::arg("files", files_key(a)),
                                fmt::arg("state", a.state)));
}

/// Indexes the documents. Without words in common, they get no vectors.
/// out: what to tell the user about the index
Result<std::string> index_documents(InitArguments& a, const std::string& database) {
  if (a.documents.empty()) return std::string();
  fetchers::IndexOptions options = fetchers::options_of_init();
  options.language = a.language;
  options.files.base_url = a.base_url;
  options.files.threads = hardware_threads();
  options.files.progress = terminal_progress("reading files");
  options.progress = terminal_progress("index");
  watch_interrupts();  // an interrupted run must remove what it has written
  options.is_interrupted = was_interrupted;
  options.tell_wait = print_wait;
  if (!a.has_vectors) options.vectors.source = fetchers::VectorOptions::Source::none;
  TRY(const auto report, fetchers::build_local_index(database, a.documents, options));
  a.has_vectors = report.dimensions > 0;
  a.examples = example_queries(database);
  print_read_report(report);
  const std::string found = fmt::format(" with an index of {} documents", report.documents);
  return report.read.left_out.empty()
             ? found
             : found + fmt::format(" (files left out, whole or in part: {})", report.read.left_out.size());
}

constexpr const char* kServiceFolder = "/etc/metafuse";
constexpr const char* kServiceState = "/var/lib/metafuse";
constexpr const char* kServiceUser = "metafuse";

/// Refuses to write over a configuration, except one of the service that has no domain yet.
Result<void> check_place(const InitArguments& a, const std::string& file) {
  std::error_code error;
  const fs::path folder = a.folder;
  std::vector<fs::path> written = {folder / "engines.yaml", folder / "admin.key", templates_file(a)};
  if (!a.is_system) {
    written.insert(written.begin(), file);
  } else if (fs::exists(file, error)) {
    const auto config = service::read_config(file);
    if (!config || !config->templates.empty())
      return fail(Code::no_input, file + ": already has a domain; edit it, or move it away first");
  }
  for (const fs::path& path : written)
    if (fs::exists(path, error))
      return fail(Code::no_input, path.string() + ": already exists; " +
                                      (a.is_system ? "move it away first" : "name another folder"));
  return {};
}

/// Gives the service its files and lets it read its new configuration.
/// out: what to do next
std::string hand_to_service(const InitArguments& a, const fs::path& state, bool needs_keys) {
  if (const passwd* user = ::getpwnam(kServiceUser); user != nullptr && ::geteuid() == 0) {
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(state, error))
      static_cast<void>(::lchown(entry.path().c_str(), user->pw_uid, user->pw_gid));
    static_cast<void>(::lchown(state.c_str(), user->pw_uid, user->pw_gid));
  }
  const std::string start =
      fmt::format("  systemctl enable --now metafuse     # then open http://{}/\n", a.listen);
  if (!a.root.empty() || std::system("systemctl is-active --quiet metafuse 2>/dev/null") != 0) return start;
  if (needs_keys || std::system("systemctl reload metafuse") != 0) return "  systemctl restart metafuse\n";
  return fmt::format("  open http://{}/ (the running service has the new configuration)\n", a.listen);
}

/// Documents must be named so that the configuration can name them, and must not be the configuration itself.
Result<void> check_documents(const InitArguments& a) {
  TRY_VOID(fetchers::check_base_url(a.base_url, "--base-url"));
  std::error_code error;
  for (const std::string& path : a.documents) {
    if (first_invalid_utf8(fs::absolute(path, error).string()) != std::string::npos)
      return fail(Code::usage, to_valid_utf8(path) + ": the name is not UTF-8; rename it");
    if (fs::equivalent(path, a.folder, error))
      return fail(Code::usage, a.folder +
                                   ": is a folder of documents, which anybody may search; name another "
                                   "one for the configuration with its keys");
  }
  return {};
}

/// Fills in what the options leave open.
Result<void> complete_arguments(InitArguments& a) {
  if (!a.root.empty() && !a.is_system) return fail(Code::usage, "--root goes with --system");
  if (a.is_system == !a.folder.empty())
    return fail(Code::usage, "name a folder to write, or use --system for the installed service");
  if (a.is_system) {
    a.folder = a.root + kServiceFolder;
    a.state = std::string(kServiceState) + '/';
  }
  TRY_VOID(ask_what_to_search(a));
  TRY_VOID(check_documents(a));
  TRY_VOID(check_option("--listen", service::parse_listen(a.listen)));
  if (!service::is_domain_name(a.domain))
    return fail(Code::usage, fmt::format("--domain \"{}\": 1 to 64 characters of a-z, 0-9 and -", a.domain));
  if (!a.language.empty()) TRY_VOID(check_option("--language", fetchers::check_language(a.language)));
  return {};
}

/// Indexes the documents and writes everything.
/// out: what to tell the user about the index
Result<std::string> set_up(InitArguments& a, const InitEngines& others, const fs::path& state) {
  const fs::path folder = a.folder;
  TRY_VOID(make_folder(state.string()));
  TRY(const std::string found, index_documents(a, (state / "index.db").string()));
  for (const fs::path& made : {folder / "templates", state / "models", state / "reports"})
    TRY_VOID(make_folder(made.string()));
  TRY_VOID(write_configuration(a, others.engines, folder));
  if (!a.root.empty()) return found;
  TRY(const auto config, read_server_configuration((folder / "metafuse.yaml").string()));
  // A key that the user has yet to set is not a mistake in the configuration written.
  if (others.secrets.empty()) TRY_VOID(service::load_snapshot(config, engine_loader()));
  return found;
}

/// The files and folders that set_up() writes and that do not exist yet, folders before what is in them.
std::vector<fs::path> new_paths(const InitArguments& a, const fs::path& state) {
  const fs::path folder = a.folder;
  std::vector<fs::path> paths = {folder, state, folder / "templates", templates_file(a)};
  for (const char* name : {"index.db", "models", "reports"}) paths.push_back(state / name);
  for (const char* name : {"admin.key", "engines.yaml", "metafuse.yaml"}) paths.push_back(folder / name);
  std::error_code error;
  std::erase_if(paths, [&](const fs::path& path) { return fs::exists(path, error); });
  return paths;
}

Result<void> run_init(InitArguments& a) {
  TRY_VOID(complete_arguments(a));
  std::vector<std::string> asked = a.engines;
  if (!a.searxng.empty()) asked.insert(asked.begin(), "searx_engine=" + a.searxng);
  TRY(const auto others, init_engines(asked, a.presets, a.apis));
  const fs::path folder = a.folder;
  const fs::path state = a.is_system ? fs::path(a.root + kServiceState) : folder;
  const std::string file = (folder / "metafuse.yaml").string();
  TRY_VOID(check_place(a, file));
  const auto written = new_paths(a, state);
  const auto before = read_text(file, std::size_t{1} << 20);
  const auto found = set_up(a, others, state);
  if (!found) {
    std::error_code error;
    for (auto path = written.rbegin(); path != written.rend(); ++path) fs::remove(*path, error);
    if (before) TRY_VOID(write_file(file, *before));
    return found.error();
  }
  for (const std::string& remark : others.remarks) std::cout << remark << '\n';
  const char* ask =
      others.engines.empty() ? "" : "  metafuse config check --live    # asks each engine once\n";
  std::string next = steps_for_secrets(others, a.is_system) + ask + "  metafuse search 'some words'\n";
  if (a.is_system)
    next += hand_to_service(a, state, !others.secrets.empty());
  else
    next = fmt::format("  cd {}\n{}  metafuse serve                # then open http://{}/\n",
                       shell_word(a.folder), next, a.listen);
  std::cout << fmt::format("{}: a configuration{}; the administrator's key is in {}.\nNext:\n{}", a.folder,
                           *found, a.is_system ? (folder / "admin.key").string() : "admin.key", next);
  return {};
}

}  // namespace

void add_init(CLI::App& app, Program& program) {
  auto [verb, a] =
      add_verb(app, "init", "write a configuration for your own documents or engines", run_init, program);
  verb.add_option("DIR", a.folder, "the folder to write; it is created if it does not exist");
  verb.add_flag(
      "--system", a.is_system,
      "write for the installed service instead: /etc/metafuse, with the index in /var/lib/metafuse");
  verb.add_option("--root", a.root, "with --system: the root file system to prepare; default: this one");
  verb.add_option(
      "--documents", a.documents,
      "folders or files to index: HTML, Markdown, text, PDF, Office, OpenDocument, EPUB, RTF, mail, "
      "source code, CSV, JSON lines");
  verb.add_option("--base-url", a.base_url, "what the URLs of the documents begin with; default: file://");
  verb.add_option(
      "--language", a.language,
      "the language of the documents (en, de, ...); without this option it is found by their words");
  verb.add_flag_callback(
      "--stem-english", [&arguments = a] { arguments.language = "en"; }, "the same as --language en");
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
      "  metafuse init --system --documents /usr/share/doc\n"
      "  metafuse init handbook --documents site/ --base-url https://handbook.example.org/ --domain "
      "handbook\n"
      "  metafuse init web --searxng http://127.0.0.1:8888\n"
      "  metafuse init papers --preset openalex --preset arxiv\n"
      "  metafuse init shop --api 'https://shop.example.org/api/search?q=kettle'\n"
      "  metafuse init wiki --engine postgresql=postgresql://reader@db/wiki#pages --engine "
      "solr=http://127.0.0.1:8983#wiki");
}

}  // namespace metafuse::cli
