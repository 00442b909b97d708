// The verbs that search, and those that prepare it or offer it to others: index, search, serve, mcp.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "cli/environment.h"
#include "cli/read_report.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "core/json.h"
#include "core/parallel.h"
#include "core/text.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/calling/embedder.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/engines/index/index_update.h"
#include "fetchers/engines/index/local_engine.h"
#include "service/api/native.h"
#include "service/pages/result_text.h"
#include "service/search/list_selection.h"
#include "service/search/reasons.h"
#include "service/search/result_passages.h"
#include "service/search/search_answer.h"
#include "service/search/search_pipeline.h"
#include "service/search/search_request.h"
#include "service/search/shown_results.h"
#include "service/serve.h"

namespace metafuse::cli {
namespace {

using fetchers::printable;

/// What the options name; an update keeps what the index has besides.
struct IndexArguments {
  std::string database;
  std::vector<std::string> documents;
  std::string embedding, language;
  std::vector<std::string> tokenizers;
  std::optional<std::size_t> dimensions;
  bool has_cosine = false, keeps_terms = false, updates = false;
  fetchers::DocumentFileOptions files;
};

using VectorSource = fetchers::VectorOptions::Source;

/// "lsi" makes the vectors from the documents themselves; anything else is an engine file that names
/// an endpoint.
Result<void> choose_embedding(const IndexArguments& arguments, fetchers::VectorOptions& vectors) {
  if (!arguments.embedding.empty()) vectors = {};
  if (arguments.embedding == "lsi") {
    vectors.source = VectorSource::lsi;
  } else if (!arguments.embedding.empty()) {
    TRY(const auto file, fetchers::read_engine_file(arguments.embedding));
    if (!file.embedding)
      return fail(Code::usage,
                  arguments.embedding + ": has no top-level `embedding:`; add one, or write --embedding lsi");
    vectors.source = VectorSource::endpoint;
    vectors.model = file.embedding->model;
    TRY(vectors.embed, fetchers::make_embed_texts(*file.embedding, environment_secret, {}));
  } else if (vectors.source == VectorSource::endpoint) {
    return fail(Code::usage, arguments.database + ": " + vectors.model +
                                 " made its vectors; name its engine file with --embedding");
  }
  if (!arguments.dimensions) return {};
  if (vectors.source != VectorSource::lsi)
    return fail(Code::usage, "--dimensions: only vectors that lsi makes have it; add --embedding lsi");
  vectors.dimensions = *arguments.dimensions;
  return {};
}

/// The options of the index that an update begins with; else, and where building says what is wrong with the
/// file, those of a new one.
Result<fetchers::IndexOptions> first_options(const IndexArguments& arguments) {
  std::error_code error;
  if (!arguments.updates || !std::filesystem::is_regular_file(arguments.database, error) ||
      std::filesystem::is_empty(arguments.database, error))
    return fetchers::IndexOptions();
  auto made = fetchers::options_to_update(arguments.database);
  if (made) return made;
  // an index of this version is damaged: which lists it has is not known
  if (made.error().code == Code::bad_data && fetchers::other_version(arguments.database).empty())
    return made.error();
  return fetchers::IndexOptions();
}

/// What an option names replaces only its own part.
Result<fetchers::IndexOptions> index_options(const IndexArguments& arguments) {
  TRY(auto options, first_options(arguments));
  options.updates = arguments.updates;
  options.files = arguments.files;
  if (!arguments.language.empty()) options.language = arguments.language;
  options.has_cosine = options.has_cosine || arguments.has_cosine;
  options.keeps_terms = options.keeps_terms || arguments.keeps_terms;
  if (!arguments.tokenizers.empty()) options.kinds.clear();
  for (const std::string& name : arguments.tokenizers) options.kinds.push_back(*fetchers::word_kind_of(name));
  TRY_VOID(choose_embedding(arguments, options.vectors));
  return options;
}

Result<void> run_index(const IndexArguments& arguments) {
  TRY_VOID(fetchers::check_base_url(arguments.files.base_url, "--base-url"));
  if (!arguments.language.empty())
    TRY_VOID(check_option("--language", fetchers::check_language(arguments.language)));
  TRY(auto options, index_options(arguments));
  watch_interrupts();  // an interrupted run must remove its unfinished file
  options.is_interrupted = was_interrupted;
  options.tell_wait = print_wait;
  options.files.progress = terminal_progress("reading files");
  options.progress = terminal_progress("index");
  TRY(const auto report, fetchers::build_local_index(arguments.database, arguments.documents, options));
  const std::string changes = !report.is_update ? ""
                                                : fmt::format(" ({} new, {} changed, {} removed)",
                                                              report.added, report.changed, report.removed);
  const std::string vectors =
      report.dimensions > 0 ? fmt::format(", vectors of {} dimensions", report.dimensions) : "";
  const std::string language = report.language.empty() ? "" : ", language " + report.language;
  std::cout << fmt::format("{}: {} documents{}, columns {}{}{}\n", arguments.database, report.documents,
                           changes, fmt::join(report.columns, " "), language, vectors);
  if (!report.other_version.empty())
    std::cerr << fmt::format(
        "metafuse: the index was one of version {}; it has been built again as version {}\n",
        report.other_version, fetchers::kIndexVersion);
  if (report.was_damaged) std::cerr << "metafuse: the index was damaged; it has been built again\n";
  print_read_report(report);
  return {};
}

}  // namespace

void add_index(CLI::App& app, Program& program) {
  auto [verb, a] = add_verb(app, "index", "build the embedded local engine's index", run_index, program);
  a.files.threads = hardware_threads();
  verb.add_option("--database", a.database,
                  "the index to write (SQLite); without --update an existing index is replaced entirely")
      ->required();
  verb.add_option(
          "DOCUMENTS", a.documents,
          "folders and files of HTML, Markdown, text, PDF, Office, OpenDocument, EPUB, RTF, mail, source "
          "code; sitemaps (.xml) next to a copy of their site; CSV "
          "with a column url; JSON lines {\"url\",\"title\",\"text\",...}, - for standard input")
      ->required();
  verb.add_option("--base-url", a.files.base_url,
                  "what the URLs of files in folders begin with; default: file://localhost/ and their path");
  verb.add_option(
      "--language", a.language,
      "the language of documents that do not state theirs (en, de, ...): its stems and stop words are "
      "used; without this option it is found by the most frequent words");
  verb.add_flag_callback(
      "--stem-english", [&arguments = a] { arguments.language = "en"; }, "the same as --language en");
  verb.add_option(
          "--tokenizer", a.tokenizers,
          "the lists of words to write: stems (\"searches\" finds \"search\"), words as they are, parts (any "
          "four letters of a word); engines name one with `tokenizer:` or use the first; default: "
          "stems,words")
      ->delimiter(',')
      ->check(CLI::IsMember({"words", "stems", "parts", "unicode61", "porter", "trigram"}));
  verb.add_flag("--cosine", a.has_cosine,
                "also index what engines of the type local_cosine need: words, stems and parts of words");
  verb.add_flag("--expandable", a.keeps_terms,
                "keep the words of each document, which engines with `expand:` need");
  verb.add_flag(
      "--update", a.updates,
      "keep the documents in the index too, so that the next --update reads only files that changed; its "
      "language, lists and vectors stay, but for what another option replaces or adds");
  verb.add_option(
      "--embedding", a.embedding,
      "also write a vector for each document, for engines of the type local_vector: lsi derives them from "
      "the documents' words (latent semantic indexing); an engine file with `embedding:` names an endpoint");
  verb.add_option("--dimensions", a.dimensions,
                  "at most this many dimensions of the vectors that lsi makes; default: 200")
      ->check(CLI::Range(std::int64_t{1}, fetchers::kMostLsiDimensions));
  add_threads(verb, a.files.threads, "threads that read files of folders and make vectors");
  verb.footer(
      "A file's ending says what it is, else its content; .gz, .xz and .zst are decompressed. PDF is read by "
      "pdftotext, RTF by unrtf, if they are installed. A table of all kinds says what was read, and what was "
      "left out "
      "and "
      "why.\n"
      "Further fields with text values become columns that queries can name (name:word) and engine "
      "definitions can weight.\n"
      "Examples:\n"
      "  metafuse index --database state/docs.db ~/Documents\n"
      "  metafuse index --database state/site.db site/ --base-url https://www.example.org/\n"
      "  metafuse index --database state/pages.db pages.jsonl --embedding lsi\n"
      "  metafuse index --database state/pages.db pages.jsonl --tokenizer words,stems,parts --cosine\n"
      "  zcat pages.jsonl.gz | metafuse index --database state/pages.db -");
}

namespace {

struct SearchArguments {
  ConfigChoice config;
  std::string domain;
  std::vector<std::string> settings;
  std::vector<std::string> words;
  int limit = 10;
  bool is_explained = false;
  bool is_verbatim = false;
  bool is_json = false;
};

Result<service::SearchRequest> request_of(const SearchArguments& arguments) {
  service::SearchRequest request;
  request.domain = arguments.domain;
  for (const std::string& word : arguments.words) request.text += (request.text.empty() ? "" : " ") + word;
  TRY_VOID(check_utf8("the query", request.text));
  TRY(request.slots.slots, read_settings("--set", arguments.settings));
  for (const auto& [name, value] : request.slots.slots) TRY_VOID(check_utf8("--set " + name, value));
  if (request.text.empty() == request.slots.slots.empty())
    return fail(Code::usage, "give either a QUERY or --set NAME=VALUE for each slot");
  return request;
}

constexpr std::chrono::seconds kPassagesWithin{5};
constexpr std::size_t kTerminalSnippetBytes = 250;

/// A text with its matches in bold.
std::string with_matches(const std::string& text, const std::vector<service::FoldedText>& words) {
  std::string out;
  for (const service::MarkedPiece& piece : service::marked(text, words)) {
    out += piece.plain;
    if (!piece.match.empty()) out += styled(STDOUT_FILENO, Style::heading, piece.match);
  }
  return out;
}

/// "2 more like this: PATH, PATH".
void print_folded(const std::vector<service::FoldedHit>& hits, std::string_view what) {
  if (hits.empty()) return;
  constexpr std::size_t kShown = 3;
  std::string where;
  for (std::size_t i = 0; i < std::min(hits.size(), kShown); ++i) {
    const service::ReadableAddress address = service::readable_address(hits[i].url);
    where += (i == 0 ? "" : ", ") + printable(hits[i].url.starts_with("file:") ? address.path : hits[i].url);
  }
  std::cout << styled(STDOUT_FILENO, Style::faint,
                      fmt::format("     {} {}: {}{}", hits.size(), what, where,
                                  hits.size() > kShown ? ", ..." : ""))
            << '\n';
}

/// For a reader at a terminal: title, address (a path for a file), and the part of the text that matches.
/// Titles are links where the terminal shows colours (OSC 8).
void print_for_reader(int rank, const service::FusedResult& result,
                      const std::vector<service::FoldedText>& words) {
  const service::ReadableAddress address = service::readable_address(result.hit.url);
  const bool is_file = result.hit.url.starts_with("file:");
  const std::string url = printable(result.hit.url);
  const std::string title = styled(STDOUT_FILENO, Style::heading, printable(result.hit.title));
  const bool has_links = title.find('\x1b') != std::string::npos;
  std::cout << fmt::format("{:>3}  {}  {}\n     {}\n", rank,
                           has_links ? "\x1b]8;;" + url + "\x1b\\" + title + "\x1b]8;;\x1b\\" : title,
                           styled(STDOUT_FILENO, Style::faint, service::short_number(result.score)),
                           styled(STDOUT_FILENO, Style::link, is_file ? printable(address.path) : url));
  const std::string snippet = service::excerpt(printable(result.hit.snippet), words, kTerminalSnippetBytes);
  if (!snippet.empty()) std::cout << "     " << with_matches(snippet, words) << '\n';
  print_folded(result.alike, "more like this");
  print_folded(result.same_site, "more from this site");
}

/// A tab-separated line for programs.
void print_result(int rank, const service::FusedResult& result,
                  const std::vector<service::FoldedText>& words) {
  if (is_terminal(STDOUT_FILENO)) return print_for_reader(rank, result, words);
  std::cout << rank << '\t' << service::short_number(result.score) << '\t' << printable(result.hit.url)
            << '\t' << printable(result.hit.title) << '\n';
}

/// Every reason once, with the lists that it concerns: a damaged index is the failure of all its lists.
void print_failures(const service::SearchAnswer& answer) {
  std::vector<std::pair<std::string, std::vector<std::string>>> failures;
  for (const auto& list : answer.lists) {
    if (!list.has_failed()) continue;
    const std::string text = service::failure_text(list, true);
    auto at = std::ranges::find(failures, text, &decltype(failures)::value_type::first);
    if (at == failures.end()) at = failures.insert(at, {text, {}});
    at->second.push_back(list.query.feature_name());
  }
  for (const auto& [text, lists] : failures)
    std::cerr << fmt::format("metafuse: {}: {}\n", fmt::join(lists, ", "), text);
}

void print_text(const service::Snapshot& snapshot, const service::SearchAnswer& answer,
                const SearchArguments& arguments) {
  if (!answer.fusion.notice.empty() && arguments.is_explained)
    std::cerr << "metafuse: " << answer.fusion.notice << '\n';
  print_failures(answer);
  if (const std::string left = service::not_asked_text(answer); !left.empty() && arguments.is_explained)
    std::cerr << "metafuse: " << left << '\n';
  if (answer.results.empty()) std::cerr << "metafuse: no result\n";
  const service::LoadedDomain& domain = *snapshot.find_domain(answer.domain);
  const auto words = service::words_to_mark(answer);
  const std::size_t shown = std::min(answer.results.size(), static_cast<std::size_t>(arguments.limit));
  int rank = 0;
  for (const service::FusedResult& result : std::span(answer.results).first(shown)) {
    print_result(++rank, result, words);
    if (!arguments.is_explained) continue;
    for (const service::Reason& reason : service::reasons_of(domain, answer, result))
      std::cout << '\t' << service::weight_text(reason) << '\t' << reason.feature << '\t'
                << (reason.rank > 0 ? "rank " + std::to_string(reason.rank) : "unranked") << '\n';
  }
}

/// What was typed, if a correction is searched instead, and what is probably meant.
struct Correction {
  std::string typed;
  std::vector<std::string> meant;
};

/// Replaces a query that was surely mistyped, and says so.
Correction correct(const service::Snapshot& snapshot, bool is_verbatim, service::SearchRequest& request) {
  const service::LoadedDomain* domain = snapshot.find_domain(request.domain);
  const auto meant = domain == nullptr
                         ? std::nullopt
                         : service::corrected_query(*domain, domain->vocabularies, request.text);
  if (!meant) return {};
  const std::string& corrected = meant->text;
  if (is_verbatim && meant->is_sure) std::cerr << "metafuse: did you mean: " << corrected << '\n';
  if (is_verbatim || !meant->is_sure) return {{}, {corrected}};
  std::cerr << fmt::format(
      "metafuse: nothing has all of \"{}\"; results for \"{}\" (--verbatim searches "
      "what was typed)\n",
      request.text, corrected);
  return {std::exchange(request.text, corrected), {corrected}};
}

/// Whether no list was answered. An empty query, such as {QUERY|short} makes of a long one, is never asked.
bool have_all_failed(const service::SearchAnswer& answer) {
  std::size_t asked = 0, failed = 0;
  for (const auto& list : answer.lists) {
    if (list.query.text.empty()) continue;
    ++asked;
    failed += list.has_failed() ? 1 : 0;
  }
  return asked > 0 && failed == asked;
}

Result<void> search(const SearchArguments& arguments) {
  TRY(auto request, request_of(arguments));
  TRY(const auto file, chosen_config(arguments.config));
  TRY(const auto config, read_server_configuration(file));
  TRY(const auto snapshot, service::load_snapshot(config, engine_loader()));
  const Clock& clock = machine_clock();
  Correction correction = correct(*snapshot, arguments.is_verbatim, request);
  TRY(auto answer, service::search(*snapshot, request, clock));
  auto shown = service::shown_results(answer, 1, arguments.limit, {});
  shown.typed = std::move(correction.typed);
  shown.corrections = std::move(correction.meant);
  service::set_passages(*snapshot, shown.positions, Deadline(clock, kPassagesWithin), answer);
  if (arguments.is_json)
    std::cout << to_pretty_text(service::native_json(*snapshot, answer, shown, arguments.is_explained));
  else
    print_text(*snapshot, answer, arguments);
  if (have_all_failed(answer))
    return fail(Code::unavailable,
                "every list failed; run metafuse config check --live to ask each engine once");
  return {};
}

}  // namespace

void add_search(CLI::App& app, Program& program) {
  auto [verb, a] = add_verb(app, "search", "search once: expand, fetch, fuse", search, program);
  add_config_option(verb, a.config);
  verb.add_option("--domain", a.domain, "domain; default: the configuration's default_domain");
  verb.add_option("--set", a.settings, "NAME=VALUE, a slot of the base query")->allow_extra_args(false);
  verb.add_option("QUERY", a.words, "a plain query instead of slots");
  add_defaulted(verb, "--limit", a.limit, "results to print")->check(CLI::Range(1, 1000));
  verb.add_flag("--explain", a.is_explained, "print what each list adds to each result's score");
  verb.add_flag("--verbatim", a.is_verbatim, "search what was typed, even if it holds a typing error");
  verb.add_flag("--json", a.is_json, "print the answer as POST /v1/search gives it");
  verb.footer(
      "Piped: one line per result of rank, score, URL, title, between tabs.\n"
      "Examples:\n"
      "  metafuse search --config config/metafuse.yaml --set NAME='Ada Lovelace' --set AFFILIATION=London\n"
      "  metafuse search --config demo/metafuse.yaml --explain text editor");
}

namespace {

struct ServeArguments {
  ConfigChoice config;
  std::string listen;
};

Result<void> serve(const ServeArguments& arguments) {
  TRY(const auto file, chosen_config(arguments.config));
  const auto read = [file, listen = arguments.listen] { return read_server_configuration(file, listen); };
  TRY(auto config, read());
  service::ServeOptions options;
  options.config = std::move(config);
  options.load_engines = engine_loader();
  options.reread = read;
  options.on_ready = [](const std::string& address) { std::cout << address << std::endl; };
  options.on_warning = [](const std::string& text) { std::cerr << "metafuse: warning: " << text << '\n'; };
  return service::serve(options);
}

}  // namespace

void add_serve(CLI::App& app, Program& program) {
  auto [verb, a] = add_verb(app, "serve", "answer searches over HTTP", serve, program);
  add_config_option(verb, a.config);
  verb.add_option("--listen", a.listen, "HOST:PORT instead of the configuration's; port 0 takes a free one");
  verb.footer(
      "The address is printed on standard output when the server is ready; the log goes to standard error, "
      "one JSON object per line. SIGHUP reloads configuration, templates, engines and models; SIGTERM "
      "finishes "
      "the requests under way and ends. METAFUSE_LISTEN, METAFUSE_STORE, METAFUSE_MODELS and METAFUSE_REDIS "
      "override the file.\n"
      "Examples:\n"
      "  metafuse serve --config config/metafuse.yaml\n"
      "  metafuse serve --config config/metafuse.yaml --listen 127.0.0.1:0");
}

namespace {

struct McpArguments {
  ConfigChoice config;
  std::string url;
  std::string key;
};

Result<void> mcp(const McpArguments& arguments) {
  service::StdioEnds ends;
  ends.key = !arguments.key.empty() ? arguments.key : environment_secret("METAFUSE_KEY").value_or("");
  if (!arguments.url.empty()) return service::relay_stdio(arguments.url, ends);
  TRY(const auto file, chosen_config(arguments.config));
  service::AppSource server;
  server.reread = [file] { return read_server_configuration(file); };
  TRY(server.config, server.reread());
  server.load_engines = engine_loader();
  server.on_warning = [](const std::string& text) { std::cerr << "metafuse: warning: " << text << '\n'; };
  return service::serve_stdio(server, ends);
}

}  // namespace

void add_mcp(CLI::App& app, Program& program) {
  auto [verb, a] = add_verb(
      app, "mcp", "serve search tools to agents: Model Context Protocol on standard streams", mcp, program);
  add_config_option(verb, a.config);
  verb.add_option("--url", a.url, "use this running server instead of starting one: http://HOST:PORT")
      ->excludes("--config");
  verb.add_option("--key", a.key, "API key; default: the environment variable METAFUSE_KEY");
  verb.footer(
      "For agents that start a program and talk to it: each input line is a message, each output line a "
      "reply; the log goes to standard error. docs/use-with has what to write into the agents' "
      "configurations.\n"
      "Examples:\n"
      "  metafuse mcp --config config/metafuse.yaml\n"
      "  METAFUSE_KEY=... metafuse mcp --url https://search.example.org");
}

}  // namespace metafuse::cli
