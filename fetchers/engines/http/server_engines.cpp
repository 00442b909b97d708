// Engines that are search servers, vector search servers or hosted search services, each as a preset of an
// HTTP engine. {vector} in a body is the vector of the expanded query from the engine's `embedding:`.

#include "core/encoding.h"
#include "core/json.h"
#include "core/url.h"
#include "fetchers/engines/http/http_readers.h"
#include "fetchers/http/request_template.h"

namespace metafuse::fetchers {
namespace {

/// A name that is inserted into a path or parameter, percent-encoded.
std::string take_name(EngineBlock& block, std::string_view key) {
  return with_doubled_braces(percent_encoded(block.map.take_required_string(key)));
}

std::string parameter(std::string_view name, const std::string& value) {
  return value.empty() ? std::string() : "&" + std::string(name) + "=" + percent_encoded(value, true);
}

std::string take_parameter(EngineBlock& block, std::string_view key, std::string_view name,
                           std::string_view preset = {}) {
  return parameter(name, block.text(key, preset));
}

bool is_identifier(std::string_view text) {
  return text.size() <= 128 && is_made_of(text, kLettersAndDigits, "_-.");
}

/// A name that is inserted unquoted into a request's query language: letters, digits, `_`, `-` and `.` only.
std::string take_identifier(EngineBlock& block, std::string_view key, std::string_view preset = {}) {
  if (preset.empty()) block.map.take_required(key);
  std::string name = block.text(key, preset);
  block.check(key, is_identifier(name),
              "\"" + name + "\" is not a valid name; use letters, digits, _, - and .");
  return name;
}

/// `,"member":JSON`. Braces are doubled for the template.
std::string json_member(std::string_view member, const Json& value) {
  return ",\"" + std::string(member) + "\":" + with_doubled_braces(to_text(value));
}

/// The member `filter` with the value of a YAML key, or nothing if it is absent.
std::string take_filter_member(EngineBlock& block, std::string_view key) {
  const YamlNode* node = block.map.take(key);
  return node == nullptr ? std::string() : json_member("filter", json_of(*node));
}

/// A member with the text of a YAML key, or nothing if it is absent or empty.
std::string take_text_member(EngineBlock& block, std::string_view key, std::string_view member) {
  const std::string text = block.text(key);
  return text.empty() ? text : json_member(member, Json(text));
}

/// Access to a server that answers in pages of JSON; each result has url, title and content below `where`.
HttpAccess& json_server(EngineBlock& block, std::string results, const std::string& where = "") {
  auto& access = block.engine.access.emplace<HttpAccess>();
  access.paging.is_on = true;
  access.answer.results = std::move(results);
  access.answer.url = where + "url";
  access.answer.title = where + "title";
  access.answer.content = where + "content";
  return access;
}

void set_json_body(HttpAccess& access, std::string body) {
  access.method = "POST";
  access.content_type = "application/json";
  access.body = std::move(body);
}

/// The same for a server with relevance scores, whose results may have `text` instead of `content`.
HttpAccess& vector_server(EngineBlock& block, std::string results, const std::string& where,
                          std::string score) {
  HttpAccess& access = json_server(block, std::move(results), "$" + where + "/");
  access.answer.content.paths.push_back("$" + where + "/text");
  access.answer.content.has_fallbacks = true;
  access.answer.score = std::move(score);
  return access;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// SearXNG's custom_query_json: {{KEY}} and {{VALUE}} are the two parts of a query "key:value"; without
/// {{KEY}}, the value is the whole query.
std::string custom_query(EngineBlock& block, const YamlNode& custom) {
  std::string text = with_doubled_braces(to_text(json_of(custom)));
  const bool has_key = text.find("{{{{KEY}}}}") != std::string::npos;
  replace_all(text, "{{{{KEY}}}}", "{query_field}");
  for (const std::string_view marker : {"{{{{VALUE}}}}", "{{{{QUERY}}}}", "{{{{query}}}}"})
    replace_all(text, marker, has_key ? "{query_value}" : "{query}");
  if (text.find("{query") == std::string::npos)
    block.diagnostics.error(custom.place,
                            "custom_query_json must contain {{VALUE}}, which becomes the query");
  return text;
}

/// Nearest neighbours of the query's vector. Elasticsearch takes them as a member beside the query,
/// OpenSearch as a query.
///
/// source: Elasticsearch's search API, `knn` (8.4 and later); OpenSearch's k-NN query
std::string nearest_neighbours(EngineBlock& block) {
  const std::string field =
      with_doubled_braces(to_text(Json(block.map.take_required_string("vector_field"))));
  const std::string k = std::to_string(block.map.take_integer("k", 1, 10000).value_or(100));
  if (block.engine.type == "opensearch")
    return R"("query":{{"knn":{{)" + field + R"(:{{"vector":{vector},"k":)" + k + "}}}}}}";
  const std::string tried = std::to_string(block.map.take_integer("num_candidates", 1, 10000).value_or(200));
  return R"("knn":{{"field":)" + field + R"(,"query_vector":{vector},"k":)" + k + R"(,"num_candidates":)" +
         tried + "}}";
}

/// The query part of Elasticsearch's body, as a template.
///
/// source: the query types of SearXNG's elasticsearch engine. Where that requires field:value for `match`, a
///         query without a field searches all fields here.
std::string elasticsearch_query(EngineBlock& block, HttpAccess& access) {
  const std::string type = block.text("query_type", "match");
  const YamlNode* custom = block.map.take("custom_query_json");
  access.needs_query_field = type == "term" || type == "terms";
  if (type == "match")
    return R"({{"multi_match":{{"query":"{query_value}","fields":["{query_field}"],"lenient":true}}}})";
  if (type == "term") return R"({{"term":{{"{query_field}":"{query_value}"}}}})";
  if (type == "terms") return R"({{"terms":{{"{query_field}":[{query_values}]}}}})";
  if (type == "simple_query_string") return R"({{"simple_query_string":{{"query":"{query}"}}}})";
  if (type == "query_string") return R"({{"query_string":{{"query":"{query}","lenient":true}}}})";
  if (type == "custom" && custom != nullptr && custom->is_map()) {
    std::string text = custom_query(block, *custom);
    access.needs_query_field = text.find("{query_field}") != std::string::npos;
    return text;
  }
  block.error_at("query_type",
                 "query_type must be match, term, terms, simple_query_string, query_string, knn, or custom "
                 "with a map custom_query_json");
  return {};
}

std::vector<std::string> take_fields(EngineBlock& block) {
  return block.map.take_strings("fields").value_or(std::vector<std::string>{"url", "title", "content"});
}

}  // namespace

void read_elasticsearch(EngineBlock& block) {
  HttpAccess& access = json_server(block, "hits/hits", "_source/");
  access.answer.score = "_score";
  const YamlNode* type = block.map.take("query_type");
  const bool is_nearest = type != nullptr && type->is_scalar() && type->text == "knn";
  set_json_body(access, R"({{"from":{offset},"size":{count},)" +
                            (is_nearest ? nearest_neighbours(block)
                                        : R"("query":)" + elasticsearch_query(block, access)) +
                            "}}");
  const std::string index = block.text("index");
  access.url = take_base_url(block, "http://localhost:9200") +
               (index.empty() ? "" : "/" + with_doubled_braces(percent_encoded(index))) + "/_search";
  take_http_keys(block, access);
}

void read_solr(EngineBlock& block) {
  HttpAccess& access = json_server(block, "response/docs");
  access.url = take_base_url(block, "http://localhost:8983") + "/solr/" + take_name(block, "collection") +
               "/select?q={query}&start={offset}&rows={count}&wt=json" +
               take_parameter(block, "sort", "sort") + take_parameter(block, "field_list", "fl") +
               take_parameter(block, "default_fields", "df") + take_parameter(block, "query_fields", "qf") +
               take_parameter(block, "query_parser", "defType");
  block.map.take("rows");
  take_http_keys(block, access);
}

void read_meilisearch(EngineBlock& block) {
  HttpAccess& access = json_server(block, "hits");
  const std::string base = take_base_url(block, "http://localhost:7700");
  access.url = base + "/indexes/" + take_name(block, "index") + "/search";
  set_json_body(access, R"({{"q":"{query}","offset":{offset},"limit":{count})" +
                            take_filter_member(block, "facet_filters") + "}}");
  take_key_header(block, access, "Authorization", "Bearer ", "auth_key");
  take_http_keys(block, access);
}

void read_mediawiki(EngineBlock& block) {
  HttpAccess& access = json_server(block, "query/search");
  access.answer.is_content_html = true;
  access.answer.content = "snippet";
  access.answer.published = "timestamp";
  access.answer.suggestion = "searchinfo/suggestion";
  access.default_language = "en";
  std::string base = take_base_url(block, "https://{language}.wikipedia.org");
  const std::string path = block.text("api_path", "w/api.php");
  access.url = base + "/" + with_doubled_braces(path) +
               "?action=query&list=search&format=json&srsearch={query}&sroffset={offset}&srlimit={count}" +
               take_parameter(block, "search_type", "srwhat", "nearmatch") +
               take_parameter(block, "srprop", "srprop", "sectiontitle|snippet|timestamp|categorysnippet") +
               take_parameter(block, "srsort", "srsort", "relevance") +
               (block.map.take_bool("srenablerewrites").value_or(true) ? "&srenablerewrites=1" : "");
  replace_all(base, "{language}", "{lang}");
  access.answer.url = {};
  access.answer.url_format = base + "/wiki/{title|_}";
  take_http_keys(block, access);
}

void read_groonga(EngineBlock& block) {
  HttpAccess& access = json_server(block, "");
  access.answer.format = AnswerRules::Format::groonga;
  access.answer.url = "_key";
  access.answer.content = "text";
  access.answer.score = "_score";
  const std::string columns =
      take_parameter(block, "output_columns", "output_columns", "_key,title,text,_score");
  access.url = take_base_url(block, "http://localhost:10041") +
               "/d/select?table=" + take_name(block, "table") +
               "&query={query}&offset={offset}&limit={count}" + columns +
               take_parameter(block, "match_columns", "match_columns", "title||text") +
               take_parameter(block, "sort_keys", "sort_keys", "-_score") +
               take_parameter(block, "query_flags", "query_flags", "NONE");
  take_http_keys(block, access);
}

/// Reads answers of Omega's own template "xml": <hit url="" title="" sample="">. A definition may name
/// another template, with XPath for its parts.
void read_omega(EngineBlock& block) {
  HttpAccess& access = json_server(block, "//hit", "./@");
  access.answer.format = AnswerRules::Format::xml;
  access.answer.content = "./@sample";
  access.answer.score = "./@score";
  const std::string base = take_base_url(block);
  access.url = base + "?P={query}&TOPDOC={offset}&HITSPERPAGE={count}" +
               take_parameter(block, "database", "DB") + take_parameter(block, "template", "FMT", "xml");
  take_http_keys(block, access);
}

/// source: Qdrant's REST API, "Query points" (1.10 and later)
void read_qdrant(EngineBlock& block) {
  HttpAccess& access = vector_server(block, "$/result/points", "/payload", "$/score");
  access.url = take_base_url(block, "http://localhost:6333") + "/collections/" +
               take_identifier(block, "collection") + "/points/query";
  set_json_body(access, R"({{"query":{vector},"limit":{count},"offset":{offset},"with_payload":true)" +
                            take_text_member(block, "vector_field", "using") +
                            take_filter_member(block, "filter") + "}}");
  take_key_header(block, access, "api-key");
  take_http_keys(block, access);
}

/// source: Weaviate's GraphQL API, Get with nearVector or hybrid
void read_weaviate(EngineBlock& block) {
  const std::string collection = take_identifier(block, "collection");
  HttpAccess& access = vector_server(block, "$/data/Get/" + collection, "", "");
  std::string fields;
  for (const std::string& field : take_fields(block)) {
    if (!is_identifier(field))
      block.error_at("fields",
                     "fields: \"" + field + "\" is not a valid name; use letters, digits, _, - and .");
    fields += " " + field;
  }
  const auto alpha = block.map.take_number("alpha", 0, 1);
  const std::string how =
      alpha ? "hybrid:{{query:\\\"{query}\\\",vector:{vector},alpha:" + to_text(Json(*alpha)) + "}}"
            : "nearVector:{{vector:{vector}}}";
  access.url = take_base_url(block, "http://localhost:8080") + "/v1/graphql";
  set_json_body(access, R"({{"query":"{{Get{{)" + collection + "(" + how +
                            ",limit:{count},offset:{offset}){{" + fields +
                            R"( _additional{{id score}} }}}}}}"}})");
  take_key_header(block, access, "Authorization", "Bearer ");
  take_http_keys(block, access);
}

/// source: Milvus' RESTful API v2, "Search"
void read_milvus(EngineBlock& block) {
  HttpAccess& access = vector_server(block, "$/data", "", "$/distance");
  access.url = take_base_url(block, "http://localhost:19530") + "/v2/vectordb/entities/search";
  const auto names = take_fields(block);
  const std::string fields = json_member("outputFields", JsonArray(names.begin(), names.end()));
  set_json_body(access, R"({{"collectionName":")" + take_identifier(block, "collection") +
                            R"(","data":[{vector}],"annsField":")" +
                            take_identifier(block, "vector_field", "vector") +
                            R"(","limit":{count},"offset":{offset})" + fields +
                            take_text_member(block, "database", "dbName") +
                            take_text_member(block, "filter", "filter") + "}}");
  take_key_header(block, access, "Authorization", "Bearer ");
  take_http_keys(block, access);
}

/// source: Pinecone's API 2025-01, "Search with a vector"
void read_pinecone(EngineBlock& block) {
  HttpAccess& access = vector_server(block, "$/matches", "/metadata", "$/score");
  access.paging.is_on = false;
  access.url = take_base_url(block) + "/query";
  set_json_body(access, R"({{"vector":{vector},"topK":{count},"includeMetadata":true)" +
                            take_text_member(block, "namespace", "namespace") +
                            take_filter_member(block, "filter") + "}}");
  take_key_header(block, access, "Api-Key");
  access.headers.emplace_back("X-Pinecone-API-Version", "2025-01");
  take_http_keys(block, access);
}

/// source: Vespa's query API; nearestNeighbor, and userQuery for hybrid
void read_vespa(EngineBlock& block) {
  HttpAccess& access = vector_server(block, "$/root/children", "/fields", "$/relevance");
  access.answer.may_lack_results = true;  // without hits there are no children
  const std::string field = take_identifier(block, "vector_field", "embedding");
  const std::string tensor = take_identifier(block, "query_tensor", "q");
  const auto targets = block.map.take_integer("target_hits", 1, 10000).value_or(100);
  const std::string nearest =
      "({{targetHits:" + std::to_string(targets) + "}}nearestNeighbor(" + field + "," + tensor + "))";
  const bool is_hybrid = block.map.take_bool("hybrid").value_or(false);
  access.url = take_base_url(block, "http://localhost:8080") + "/search/";
  set_json_body(access, R"({{"yql":"select * from )" + take_identifier(block, "schema") + " where " +
                            (is_hybrid ? "userQuery() or " + nearest : nearest) + R"(",)" +
                            (is_hybrid ? R"("query":"{query}",)" : "") + R"-("input.query()-" + tensor +
                            R"-()":{vector},"hits":{count},"offset":{offset})-" +
                            take_text_member(block, "ranking", "ranking") + "}}");
  take_http_keys(block, access);
}

/// Keyword search by `query_by`, vector search by `vector_field`, or both.
///
/// source: Typesense's API, multi_search (the form for long vectors)
void read_typesense(EngineBlock& block) {
  HttpAccess& access = vector_server(block, "$/results/0/hits", "/document", "");
  access.url = take_base_url(block, "http://localhost:8108") + "/multi_search";
  const std::string words = take_text_member(block, "query_by", "query_by");
  const std::string field = block.text("vector_field");
  if (words.empty() && field.empty())
    block.error("query_by (text fields) and vector_field are both missing; set at least one");
  if (!field.empty()) take_identifier(block, "vector_field");
  set_json_body(access,
                R"({{"searches":[{{"collection":")" + take_identifier(block, "collection") + R"(","q":")" +
                    (words.empty() ? "*" : "{query}") + R"(","page":{pageno},"per_page":{count})" + words +
                    (field.empty() ? "" : R"(,"vector_query":")" + field + R"-(:({vector},k:{count})")-") +
                    take_text_member(block, "filter", "filter_by") + "}}]}}");
  take_key_header(block, access, "X-TYPESENSE-API-KEY");
  take_http_keys(block, access);
}

/// source: Algolia's search API, "Search an index"
void read_algolia(EngineBlock& block) {
  HttpAccess& access = vector_server(block, "$/hits", "", "");
  access.paging.first_page = 0;
  const std::string application = take_identifier(block, "application_id");
  access.url = take_base_url(block, "https://" + application + "-dsn.algolia.net") + "/1/indexes/" +
               take_name(block, "index") + "/query";
  set_json_body(access, R"({{"query":"{query}","page":{pageno},"hitsPerPage":{count})" +
                            take_text_member(block, "filter", "filters") + "}}");
  access.headers.emplace_back("X-Algolia-Application-Id", application);
  take_key_header(block, access, "X-Algolia-API-Key");
  take_http_keys(block, access);
}

}  // namespace metafuse::fetchers
