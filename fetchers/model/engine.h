#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/deadline.h"
#include "core/query_syntax.h"
#include "core/result_kinds.h"
#include "fetchers/model/secrets.h"

namespace metafuse::fetchers {

// What a search engine's definition says, as plain values: how to ask it, and where the parts of a result are
// in its answers.

using StringPairs = std::vector<std::pair<std::string, std::string>>;

/// Where one part of a result is found: at the first of several paths that yields a text, or at all of
/// them, joined.
struct PartRule {
  std::vector<std::string> paths;
  bool has_fallbacks = false;  ///< the definition gives a list of paths
  bool is_joined = false;      ///< everything that all paths find is joined, arrays included
  std::string separator;       ///< between joined texts
  std::string pattern;         ///< a regular expression; texts that do not match it count as missing
  std::string taken;  ///< what a match becomes, with \\1 for its groups; empty: group 1, or the match
  std::vector<std::pair<std::string, std::string>> replaced;  ///< regular expressions, and what replaces them
  std::vector<std::pair<std::string, std::string>> values;    ///< texts, and what they stand for

  PartRule() = default;
  PartRule(std::string path) {
    if (!path.empty()) paths.push_back(std::move(path));
  }
  PartRule(const char* path) : PartRule(std::string(path)) {}

  bool empty() const { return paths.empty(); }
  const std::string& first() const { return paths.front(); }
  friend bool operator==(const PartRule&, const PartRule&) = default;
};

/// A kind of link that leads to its target through a counting page: "duckduckgo.com/l/?uddg=TARGET". Left as
/// they are, such links would never equal another engine's link to the same page.
struct UnwrapRule {
  /// "host/path": matches this host and its subdomains, and paths that begin so. "google.*" matches the name
  /// under any top-level domain.
  std::string match;
  /// Where the target is. A name: the URL's parameter of that name; "?": everything after the question mark;
  /// "/NAME=": the path segment that begins so; "/": the rest of the path.
  std::string parameter;

  friend bool operator==(const UnwrapRule&, const UnwrapRule&) = default;
};

/// A `url_format` for those results whose text at `path` is `value`.
struct ChosenFormat {
  std::string path;
  std::string value;
  std::string format;

  friend bool operator==(const ChosenFormat&, const ChosenFormat&) = default;
};

/// Where JSON, or the HTML of an `xpath` engine, is inside an answer of another form. The steps are taken in
/// this order; an empty one is left out.
struct Inside {
  std::string json_after;  ///< a text right before a JSON value, as in "var data ="
  std::string json_xpath;  ///< the nodes of a page whose texts are JSON; several form an array
  std::string json_query;  ///< the texts of a JSON answer that are JSON themselves; several form an array
  std::string html_query;  ///< the texts of a JSON answer that are HTML

  bool empty() const {
    return json_after.empty() && json_xpath.empty() && json_query.empty() && html_query.empty();
  }
  friend bool operator==(const Inside&, const Inside&) = default;
};

/// Where the parts of a result are found in an answer. JSON uses key paths: `a/b` at any depth (as in
/// SearXNG), or `$/a/0/*` from the root. XML and HTML use XPath. An empty rule means that answers lack
/// this part.
struct AnswerRules {
  enum class Format { json, xml, html, groonga };

  Format format = Format::json;
  Inside inside;
  std::string results;  ///< the list of results; empty: the n-th values of all parts form the n-th result
  PartRule url;
  std::string url_prefix;  ///< put in front of every URL
  /// Used instead of `url`, or when none of its paths finds a URL: a text in which each `{path}` is replaced
  /// by that part of the result, percent-encoded. `{path|_}` writes underscores for blanks; `{path|raw}`
  /// keeps slashes and similar characters.
  std::string url_format;
  std::vector<ChosenFormat> chosen_formats;  ///< tried before `url_format`
  ResultKind kind = ResultKind::page;
  std::vector<std::pair<std::string, PartRule>> details;  ///< by the names in core/result_kinds.h
  PartRule title;
  PartRule content;
  PartRule published;
  PartRule language;
  PartRule score;
  PartRule thumbnail;
  PartRule match;  ///< results are kept only if one of these texts contains a word of the query
  PartRule id;     ///< the identifier that an earlier step found; results are put into that step's order
  std::string thumbnail_prefix;
  bool unwraps_links = true;       ///< redirect links are replaced by their targets
  std::vector<UnwrapRule> unwrap;  ///< rules that are tried before the built-in ones
  std::string suggestion;
  bool is_title_html = false;  ///< the JSON text contains markup
  bool is_content_html = false;
  bool may_lack_results = false;  ///< an answer without `results` means no results instead of a failure

  friend bool operator==(const AnswerRules&, const AnswerRules&) = default;
};

/// A part of a result: its name in the keys of a definition, and its rule.
struct ResultPart {
  std::string_view name;
  PartRule AnswerRules::*rule;
};
inline constexpr ResultPart kResultParts[] = {{"url", &AnswerRules::url},
                                              {"title", &AnswerRules::title},
                                              {"content", &AnswerRules::content},
                                              {"published", &AnswerRules::published},
                                              {"language", &AnswerRules::language},
                                              {"score", &AnswerRules::score},
                                              {"thumbnail", &AnswerRules::thumbnail}};

/// A request that precedes the search itself and finds identifiers for it. The later request contains all of
/// them as `{ids}`, or one at a time as `{id}`.
struct LookupStep {
  AnswerRules::Format format = AnswerRules::Format::json;
  std::string method = "GET";
  std::string url;
  std::string body;
  std::string content_type;
  std::string ids;              ///< path or XPath, from the root of the answer
  std::string separator = ",";  ///< between the identifiers of {ids}
  bool is_quoted = false;       ///< each identifier in quotation marks, as Lucene's syntax requires
  int per_request = 100;        ///< identifiers per request

  friend bool operator==(const LookupStep&, const LookupStep&) = default;
};

/// How to request the next page when an answer hands out a cursor or the page's address.
struct NextPage {
  std::string cursor;           ///< where an answer holds the cursor; empty: pages are numbered
  std::string url;              ///< contains {cursor}; empty: the engine's own URL
  std::string body;             ///< empty: the engine's own
  std::string method;           ///< empty: the engine's own
  bool is_address = false;      ///< `cursor` finds the next page's whole URL
  bool is_link_header = false;  ///< the next page is in the header Link (RFC 8288)

  bool is_followed() const { return !cursor.empty() || is_link_header; }

  friend bool operator==(const NextPage&, const NextPage&) = default;
};

/// How pages of results are requested.
struct Paging {
  bool is_on = false;
  int page_size = 1;  ///< {pageno} = (page - 1) * page_size + first_page
  int first_page = 1;
  int results_per_page = 0;         ///< 0: unknown, so pages are requested one after the other
  bool omits_first_number = false;  ///< {pageno} is empty for the first page
  NextPage next;

  friend bool operator==(const Paging&, const Paging&) = default;
};

/// What {time_range} stands for: the value for the user's choice, inserted into a piece of a URL.
struct TimeRanges {
  bool is_on = false;
  std::string url = "&hours={time_range_val}";
  StringPairs values = {{"day", "24"}, {"week", "168"}, {"month", "720"}, {"year", "8760"}};

  friend bool operator==(const TimeRanges&, const TimeRanges&) = default;
};

/// What {safe_search} stands for: a piece of a URL per level.
struct SafeSearch {
  bool is_on = false;
  StringPairs urls = {{"0", "&filter=none"}, {"1", "&filter=moderate"}, {"2", "&filter=strict"}};

  friend bool operator==(const SafeSearch&, const SafeSearch&) = default;
};

/// `auth:` of a definition: how each request proves who sends it, where a fixed header is not enough.
struct Authorization {
  enum class Kind { none, oauth2, hmac, aws, forward };

  Kind kind = Kind::none;

  /// The header of the searching client with its token, which {callers_token} stands for, and which oauth2
  /// exchanges; in `forwarded` too. Empty: the engine acts for itself.
  std::string callers_header;

  // oauth2: a token by client credentials, or by what else there is (RFC 6749)
  std::string token_url;
  std::string client_id, client_secret, refresh_token, scope, audience;
  bool is_basic = false;  ///< the client identifies itself by basic authentication instead of in the body
  std::string username, password;            ///< of a user who signs in
  std::string private_key, key_id, subject;  ///< PEM, with which an assertion is signed (RFC 7523)
  std::string service_account;               ///< the JSON key of a service account, which has most of these
  bool is_on_behalf_of = false;              ///< exchanges tokens in Microsoft's form, not in RFC 8693's

  // hmac: `message` signed with `secret`; `headers` may contain {signature}
  std::string algorithm = "sha256";
  bool is_base64 = false;
  std::string secret, message;
  std::vector<std::pair<std::string, std::string>> headers;

  // aws: Signature Version 4 with the access key `client_id` and `secret`
  std::string region, service, session_token;
  bool signs_content = false;  ///< sends the body's digest in a header of its own, as some services need

  // headers of the searching client that requests depend on, by name; `forward` passes them on
  std::vector<std::string> forwarded;
  /// The names that backends see, with a text before the value: {"Authorization", "Bearer "} for each of
  /// `forwarded`; empty: unchanged.
  std::vector<std::pair<std::string, std::string>> renamed;

  friend bool operator==(const Authorization&, const Authorization&) = default;
};

/// The shape of a reranker's requests and answers.
enum class RerankApi {
  none,    ///< the engine searches
  jina,    ///< also Cohere's, llama.cpp's and vLLM's
  voyage,  ///< "top_k" and "data" instead of "top_n" and "results"
  tei      ///< Text Embeddings Inference
};

/// An engine behind HTTP.
struct HttpAccess {
  std::string method = "GET";
  std::string url;  ///< with {query} {pageno} {lang} {time_range} {safe_search} {offset} {start} {count}
  std::string description_url;  ///< an OpenSearch description document that supplies `url` and the format
  std::string body;             ///< with the same placeholders
  std::string content_type;     ///< of the body
  StringPairs headers;          ///< "${NAME}" in a value is a secret
  HiddenTexts secrets{};        ///< that were filled in
  StringPairs cookies;
  std::string username, password;  ///< basic authentication
  Authorization auth;
  std::string default_language = "all";  ///< {lang} when the user chose no language
  TimeRanges time_ranges;
  SafeSearch safe_search;
  Paging paging;
  std::vector<LookupStep> steps;
  RerankApi rerank = RerankApi::none;
  std::string rerank_model;  ///< sent with each request; may be empty
  std::vector<int> no_result_statuses;
  int max_redirects = 3;
  bool verifies_certificates = true;
  std::string ca_file;
  std::string certificate_file, key_file;  ///< with which we identify ourselves (PEM); empty: not
  std::string proxy;                       ///< http://, https://, socks5:// or tor://HOST:PORT; empty: none
  bool keeps_cookies = false;  ///< cookies of an answer are sent with the later requests of the same search
  StringPairs languages;       ///< what {lang} stands for, by BCP 47 tag or its first part
  std::string query_pattern;   ///< what a query must match to be sent; its groups are {query_1} and so on
  StringPairs query_values;    ///< the engine's own words for groups, by their lower-case text
  bool needs_query_field = false;  ///< the query is "field:value", as Elasticsearch's term query needs
  bool is_federation = false;      ///< the engine is itself a meta-search server: requests count their hops
  /// "https://host:port" of servers that answer as the one in `url` does.
  std::vector<std::string> instances;
  bool hedges = true;  ///< a late answer is asked for at another instance too
  double price = 0;    ///< of one request, in a currency of the operator's choice
  AnswerRules answer;

  friend bool operator==(const HttpAccess&, const HttpAccess&) = default;
};

/// The endpoint that turns texts into vectors: `embedding:` of an engine or of its file.
struct Embedding {
  enum class Api { openai, ollama, tei };

  Api api = Api::openai;
  HttpAccess access;  ///< address, headers and certificates; the Embedder writes the body
  std::string model;
  std::size_t dimensions = 0;        ///< required size of every vector; 0: any
  bool requests_dimensions = false;  ///< asks the endpoint to shorten its vectors to `dimensions`
  std::string query_prefix;          ///< what the model was trained with, such as "query: "
  std::string document_prefix;
  double timeout_seconds = 3;

  friend bool operator==(const Embedding&, const Embedding&) = default;
};

/// How the embedded index scores documents.
enum class Weighting { bm25, ineb2 };

/// How a query is expanded by the words of its own best results.
struct Expansion {
  std::size_t documents = 10;  ///< how many of the best results count as relevant
  std::size_t terms = 20;      ///< how many of their words are added
  double weight = 0.4;         ///< of the best of these words; a word of the query has 1

  friend bool operator==(const Expansion&, const Expansion&) = default;
};

/// An embedded index built by `metafuse index`.
struct LocalAccess {
  std::string database;
  std::vector<std::pair<std::string, double>> weights;  ///< column, weight; others have weight 1
  std::string order_by{};   ///< the number field that orders results, highest first; empty: relevance
  std::string tokenizer{};  ///< the list of words: words, stems, parts; empty: the index's first
  Weighting weighting = Weighting::bm25;
  std::optional<Expansion> expansion{};  ///< of the query by its best results

  friend bool operator==(const LocalAccess&, const LocalAccess&) = default;
};

/// An embedded index with the tables that `metafuse index --cosine` adds.
struct CosineAccess {
  std::string database;

  friend bool operator==(const CosineAccess&, const CosineAccess&) = default;
};

/// An embedded index with vectors, built by `metafuse index --embedding`.
struct VectorAccess {
  std::string database;
  double min_score = 0;  ///< a cosine; only documents above it are results
  std::string model{};   ///< of the engine's embedding, or empty; the index must have been built with it

  friend bool operator==(const VectorAccess&, const VectorAccess&) = default;
};

/// A SQLite file that is queried with one statement. :query, :wildcard, :limit and :offset are bound. The
/// columns url, title and content form the results.
struct SqliteAccess {
  std::string database;
  std::string statement;
  std::string url_format;  ///< instead of a column url: a text with {COLUMN}

  friend bool operator==(const SqliteAccess&, const SqliteAccess&) = default;
};

/// A database server that is queried with one statement. :query, :wildcard, :vector, :limit and :offset are
/// bound. The columns url, title, content, published, language and score form the results.
struct DatabaseAccess {
  enum class Server { postgresql, mariadb, odbc };

  Server server = Server::postgresql;
  std::string connection;  ///< PostgreSQL's URL, ODBC's string; "${NAME}" is a secret
  std::string host, database, username,
      password;           ///< used without `connection`; a host with / is a socket
  HiddenTexts secrets{};  ///< that were filled in
  int port = 0;           ///< 0: the server's default
  std::string statement;
  std::string url_format;  ///< instead of a column url: a text with {COLUMN}

  friend bool operator==(const DatabaseAccess&, const DatabaseAccess&) = default;
};

/// A program whose output lines are the results. It is run directly, never through a shell.
struct CommandAccess {
  std::vector<std::string> arguments;  ///< the first is an absolute path; "{{QUERY}}" is the query
  std::string delimiter = "\t";
  std::vector<std::string> fields = {"url", "title", "content"};  ///< the names of the fields of a line
  std::string url_prefix;
  std::size_t max_bytes = std::size_t{1} << 20;

  friend bool operator==(const CommandAccess&, const CommandAccess&) = default;
};

/// One search engine as its definition describes it. Always valid: placeholders, paths and XPath are checked
/// when the definition is read.
struct Engine {
  std::string name;
  std::string type;    ///< a row of engine_types()
  std::string digest;  ///< of all keys that answers depend on; empty for an engine that no file defines
  std::string description;
  std::vector<std::string> categories;
  std::vector<std::string> known_queries;  ///< in the engine's own syntax; it finds something for them
  std::vector<std::string> tokens;         ///< one of them must be in the key of whoever asks; empty: public
  std::string shortcut;
  double weight = 1;
  /// A longer query is not sent. Unless given, it is 2000 behind HTTP, since most servers refuse URLs of 4 KB
  /// and more, and no limit elsewhere.
  std::optional<std::size_t> max_query_bytes;
  bool is_disabled = false;
  bool is_optional = false;  ///< left out, instead of an error, when a secret that it needs is not set
  const QuerySyntax* query_syntax = &default_query_syntax();
  double timeout_seconds = 3;
  double connect_seconds = 0;                    ///< 0: timeout_seconds
  double first_byte_seconds = 0;                 ///< 0: timeout_seconds
  std::size_t max_bytes = std::size_t{1} << 20;  ///< of an answer, after decompression
  int retries = 0;
  std::vector<int> retry_statuses;
  int max_connections = 8;         ///< concurrent requests
  double requests_per_second = 0;  ///< 0: no limit
  std::optional<Embedding> embedding;
  std::variant<HttpAccess, LocalAccess, VectorAccess, CosineAccess, SqliteAccess, DatabaseAccess,
               CommandAccess>
      access;

  friend bool operator==(const Engine&, const Engine&) = default;
};

/// True for an engine that needs the query's vector, not just its words.
bool needs_vector(const Engine& engine);

/// The time limit of one request to the engine.
Duration engine_timeout(const Engine& engine);

/// nullptr when no engine has that name.
const Engine* find_engine(const std::vector<Engine>& engines, std::string_view name);

}  // namespace metafuse::fetchers
