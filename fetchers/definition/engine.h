#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/deadline.h"
#include "core/query_syntax.h"
#include "core/result.h"
#include "fetchers/answers/redirect_links.h"
#include "fetchers/definition/authorization.h"

namespace metafuse::fetchers {

using StringPairs = std::vector<std::pair<std::string, std::string>>;

/// Where one part of a result stands: the first of several paths that finds a text, or all of them joined.
struct PartRule {
  std::vector<std::string> paths;
  bool has_fallbacks = false;  ///< written as a list
  bool is_joined = false;      ///< everything that every path finds, arrays included
  std::string separator;       ///< between joined texts

  PartRule() = default;
  PartRule(std::string path) {
    if (!path.empty()) paths.push_back(std::move(path));
  }
  PartRule(const char* path) : PartRule(std::string(path)) {}

  bool empty() const { return paths.empty(); }
  const std::string& first() const { return paths.front(); }
  friend bool operator==(const PartRule&, const PartRule&) = default;
};

/// Where the parts of a result stand in an answer. JSON: key paths, `a/b` at any depth (SearXNG's meaning) or
/// `$/a/0/*` from the root; XML and HTML: XPath. Empty: the answer does not have it.
struct AnswerRules {
  enum class Format { json, xml, html, groonga };

  Format format = Format::json;
  std::string results;  ///< the list of results; empty: the lists of the parts are zipped
  PartRule url;
  std::string url_prefix;  ///< put before every URL
  /// Instead of `url`, or where none of its fallbacks finds one: text with `{path}`, each replaced by that
  /// part, percent-encoded; `{path|_}` has underscores for blanks, `{path|raw}` keeps slashes and the like.
  std::string url_format;
  PartRule title;
  PartRule content;
  PartRule published;
  PartRule language;
  PartRule score;
  PartRule thumbnail;
  PartRule id;  ///< the identifier that an earlier step found: results stand in the order of that step
  std::string thumbnail_prefix;
  bool unwraps_links = true;       ///< redirect links become their targets
  std::vector<UnwrapRule> unwrap;  ///< before the well-known ones
  std::string suggestion;
  bool is_title_html = false;  ///< JSON text that holds markup
  bool is_content_html = false;
  bool may_lack_results = false;  ///< an answer without `results` means no result instead of a failure

  friend bool operator==(const AnswerRules&, const AnswerRules&) = default;
};

/// A request that comes before the search's own and finds identifiers for it: `{ids}` there, or `{id}`, which
/// asks for one after the other.
struct LookupStep {
  AnswerRules::Format format = AnswerRules::Format::json;
  std::string method = "GET";
  std::string url;
  std::string body;
  std::string content_type;
  std::string ids;              ///< path or XPath from the root of the answer
  std::string separator = ",";  ///< between identifiers where {ids} stands
  bool is_quoted = false;       ///< each identifier in quotation marks, as Lucene's syntax wants them
  int per_request = 100;        ///< identifiers in one request

  friend bool operator==(const LookupStep&, const LookupStep&) = default;
};

/// How the page after this one is asked for where an answer hands out a cursor.
struct NextPage {
  std::string cursor;  ///< where the cursor stands in an answer; empty: pages have numbers
  std::string url;     ///< with {cursor}; empty: the engine's own
  std::string body;

  friend bool operator==(const NextPage&, const NextPage&) = default;
};

/// An engine behind HTTP.
struct HttpAccess {
  std::string method = "GET";
  std::string url;  ///< with {query} {pageno} {lang} {time_range} {safe_search} {offset} {start} {count}
  std::string description_url;  ///< an OpenSearch description document that holds `url` and the format
  std::string body;             ///< the same placeholders
  std::string content_type;     ///< of the body
  StringPairs headers;          ///< "${NAME}" in a value is a secret
  StringPairs cookies;
  std::string username, password;  ///< basic authentication
  Authorization auth;
  std::string default_language = "all";  ///< {lang} when the user did not choose
  std::string time_range_url = "&hours={time_range_val}";
  StringPairs time_ranges = {{"day", "24"}, {"week", "168"}, {"month", "720"}, {"year", "8760"}};
  bool has_time_range = false;
  StringPairs safe_search = {{"0", "&filter=none"}, {"1", "&filter=moderate"}, {"2", "&filter=strict"}};
  bool has_safe_search = false;
  bool has_paging = false;
  int page_size = 1;  ///< {pageno} = (page - 1) * page_size + first_page
  int first_page = 1;
  int results_per_page = 0;  ///< results that a page holds, 0 when unknown: pages are asked for one by one
  bool omits_first_page_number = false;  ///< {pageno} is empty on the first page
  NextPage next_page;
  std::vector<LookupStep> steps;
  std::vector<int> no_result_statuses;
  int max_redirects = 3;
  bool verifies_certificates = true;
  std::string ca_file;
  bool needs_query_field = false;  ///< the query is "field:value", as Elasticsearch's term wants it
  bool is_federation = false;      ///< the engine is a meta-search server too: requests count hops
  AnswerRules answer;

  friend bool operator==(const HttpAccess&, const HttpAccess&) = default;
};

/// Who turns texts into vectors: `embedding:` of an engine or of its file.
struct Embedding {
  enum class Api { openai, ollama, tei };

  Api api = Api::openai;
  HttpAccess access;  ///< address, headers and certificates; the Embedder writes the body
  std::string model;
  std::size_t dimensions = 0;        ///< that every vector must have; 0: whatever comes
  bool requests_dimensions = false;  ///< the endpoint is asked to shorten its vectors to `dimensions`
  std::string query_prefix;          ///< as the model was trained: "query: "
  std::string document_prefix;
  double timeout_seconds = 3;

  friend bool operator==(const Embedding&, const Embedding&) = default;
};

/// The embedded index that `metafuse index` builds.
struct LocalAccess {
  std::string database;
  std::vector<std::pair<std::string, double>> weights;  ///< column, weight; others have weight 1
  std::string order_by{};  ///< number of the documents, the highest first; empty: by relevance
  std::string
      tokenizer{};  ///< of the words that are searched: unicode61, porter, trigram; empty: the index's

  friend bool operator==(const LocalAccess&, const LocalAccess&) = default;
};

/// What `metafuse index --cosine` adds to an embedded index.
struct CosineAccess {
  std::string database;

  friend bool operator==(const CosineAccess&, const CosineAccess&) = default;
};

/// The vectors of an embedded index that `metafuse index --embedding` builds.
struct VectorAccess {
  std::string database;
  double min_score = 0;  ///< a cosine; documents that do not exceed it are no results
  std::string model{};   ///< of the engine's embedding, empty without: the index must be made with the same

  friend bool operator==(const VectorAccess&, const VectorAccess&) = default;
};

/// A SQLite file that is queried by a statement: :query, :wildcard, :limit and :offset are bound; the columns
/// url, title and content make the results.
struct SqliteAccess {
  std::string database;
  std::string statement;
  std::string url_format;  ///< instead of a column url: text with {COLUMN}

  friend bool operator==(const SqliteAccess&, const SqliteAccess&) = default;
};

/// A database server that is queried by a statement: :query, :wildcard, :vector, :limit and :offset are
/// bound; the columns url, title, content, published, language and score make the results.
struct DatabaseAccess {
  enum class Server { postgresql, mariadb, mongodb, odbc };

  Server server = Server::postgresql;
  std::string connection;  ///< PostgreSQL's or MongoDB's URL, ODBC's string; "${NAME}" is a secret
  std::string host, database, username,
      password;            ///< where there is no `connection`; a host with / is a socket
  int port = 0;            ///< 0: the server's usual one
  std::string statement;   ///< of MongoDB: the stages of an aggregation as JSON, and its collection
  std::string url_format;  ///< instead of a column url: text with {COLUMN}
  std::string collection;
  StringPairs columns;  ///< of MongoDB: a result's column, and the field's path

  friend bool operator==(const DatabaseAccess&, const DatabaseAccess&) = default;
};

/// A program whose lines of output are the results. Never run by a shell.
struct CommandAccess {
  std::vector<std::string> arguments;  ///< the first is an absolute path; "{{QUERY}}" is the query
  std::string delimiter = "\t";
  std::vector<std::string> fields = {"url", "title", "content"};  ///< what stands between the delimiters
  std::string url_prefix;
  std::size_t max_bytes = std::size_t{1} << 20;

  friend bool operator==(const CommandAccess&, const CommandAccess&) = default;
};

/// One search engine, as its definition says. Valid once read: placeholders, paths and XPath have
/// been checked.
struct Engine {
  std::string name;
  std::string type;  ///< a row of engine_types()
  std::string description;
  std::vector<std::string> categories;
  std::string shortcut;
  double weight = 1;
  std::size_t max_query_bytes =
      2000;  ///< a longer query is not sent: most servers refuse URLs of 4 KB and more
  bool is_disabled = false;
  const QuerySyntax* query_syntax = &default_query_syntax();
  double timeout_seconds = 3;
  double connect_seconds = 0;                    ///< 0: the timeout
  double first_byte_seconds = 0;                 ///< 0: the timeout
  std::size_t max_bytes = std::size_t{1} << 20;  ///< of an answer, after decompression
  int retries = 0;
  std::vector<int> retry_statuses;
  int max_connections = 8;         ///< requests under way at once
  double requests_per_second = 0;  ///< 0: no limit
  std::optional<Embedding> embedding;
  std::variant<HttpAccess, LocalAccess, VectorAccess, CosineAccess, SqliteAccess, DatabaseAccess,
               CommandAccess>
      access;

  friend bool operator==(const Engine&, const Engine&) = default;
};

/// True for an engine that is asked with the query's vector, not only its words.
bool needs_vector(const Engine& engine);

/// The time that one request to the engine may take.
Duration engine_timeout(const Engine& engine);

/// nullptr when there is none of that name.
const Engine* find_engine(const std::vector<Engine>& engines, std::string_view name);

struct EngineFile {
  std::vector<Engine> engines;         ///< in the order of the file
  std::vector<std::string> warnings;   ///< "NAME:LINE:COLUMN: ...": SearXNG's keys that have no effect here
  std::vector<std::string> refused;    ///< of a whole settings.yml: the blocks that cannot be served, and why
  std::optional<Embedding> embedding;  ///< the file's own, for engines that name none
};

/// Reads engine definitions: `engines:` with blocks as in SearXNG's settings.yml. Nothing is sent
/// anywhere. Of a whole settings.yml (it has more sections than `engines`) blocks with mistakes are left
/// out and listed.
///
/// in:     text - YAML; name - the file's path: paths inside are relative to its folder
/// errors: bad_config, all mistakes of the file at once, each line "NAME:LINE:COLUMN: ...": YAML syntax,
///         unknown, missing or duplicate keys, wrong types, names that stand twice, unknown engine types
///         (those that are Python code in SearXNG by name), bad key paths, bad XPath, URLs without {query} or
///         with a placeholder in their host; no_input when the file cannot be read
Result<EngineFile> parse_engine_file(std::string_view text, const std::string& name);
Result<EngineFile> read_engine_file(const std::string& path);

}  // namespace metafuse::fetchers
