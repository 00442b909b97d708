#include <algorithm>

#include "core/encoding.h"
#include "core/json.h"
#include "core/url_text.h"
#include "fetchers/definition/engine_types.h"
#include "fetchers/definition/request_template.h"

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
                           std::string preset = {}) {
  return parameter(name, block.map.take_string(key).value_or(std::move(preset)));
}

void preset_server(HttpAccess& access, std::string results) {
  access.answer.format = AnswerRules::Format::json;
  access.answer.results = std::move(results);
  access.answer.url = "url";
  access.answer.title = "title";
  access.answer.content = "content";
  access.has_paging = true;
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
std::string nearest_neighbours(EngineBlock& block, bool is_opensearch) {
  const std::string field =
      with_doubled_braces(to_text(Json(block.map.take_required_string("vector_field"))));
  const std::string k = std::to_string(block.map.take_integer("k", 1, 10000).value_or(100));
  if (is_opensearch) return R"("query":{{"knn":{{)" + field + R"(:{{"vector":{vector},"k":)" + k + "}}}}}}";
  const std::string tried = std::to_string(block.map.take_integer("num_candidates", 1, 10000).value_or(200));
  return R"("knn":{{"field":)" + field + R"(,"query_vector":{vector},"k":)" + k + R"(,"num_candidates":)" +
         tried + "}}";
}

/// The query part of Elasticsearch's body, as a template.
///
/// source: the query types of SearXNG's elasticsearch engine. Where that requires field:value for `match`, a
///         query without a field searches all fields here.
std::string elasticsearch_query(EngineBlock& block, HttpAccess& access) {
  const std::string type = block.map.take_string("query_type").value_or("match");
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
  const YamlNode* node = block.map.take("query_type");
  block.diagnostics.error(
      node == nullptr ? block.map.place() : node->place,
      "query_type must be match, term, terms, simple_query_string, query_string, knn, or custom "
      "with a map custom_query_json");
  return {};
}

void read_elastic(EngineBlock& block, bool is_opensearch) {
  HttpAccess access;
  preset_server(access, "hits/hits");
  access.answer.url = "_source/url";
  access.answer.title = "_source/title";
  access.answer.content = "_source/content";
  access.answer.score = "_score";
  access.method = "POST";
  access.content_type = "application/json";
  const YamlNode* type = block.map.take("query_type");
  const bool is_nearest = type != nullptr && type->is_scalar() && type->text == "knn";
  access.body = R"({{"from":{offset},"size":{count},)" +
                (is_nearest ? nearest_neighbours(block, is_opensearch)
                            : R"("query":)" + elasticsearch_query(block, access)) +
                "}}";
  const std::string index = block.map.take_string("index").value_or("");
  access.url = take_base_url(block, "http://localhost:9200") +
               (index.empty() ? "" : "/" + with_doubled_braces(percent_encoded(index))) + "/_search";
  take_http_keys(block, access);
  block.engine.access = std::move(access);
}

}  // namespace

void read_elasticsearch(EngineBlock& block) {
  read_elastic(block, false);
}

void read_opensearch(EngineBlock& block) {
  read_elastic(block, true);
}

void read_solr(EngineBlock& block) {
  HttpAccess access;
  preset_server(access, "response/docs");
  access.url = take_base_url(block, "http://localhost:8983") + "/solr/" + take_name(block, "collection") +
               "/select?q={query}&start={offset}&rows={count}&wt=json" +
               take_parameter(block, "sort", "sort") + take_parameter(block, "field_list", "fl") +
               take_parameter(block, "default_fields", "df") + take_parameter(block, "query_fields", "qf") +
               take_parameter(block, "query_parser", "defType");
  block.map.take("rows");
  take_http_keys(block, access);
  block.engine.access = std::move(access);
}

void read_meilisearch(EngineBlock& block) {
  HttpAccess access;
  preset_server(access, "hits");
  access.method = "POST";
  access.content_type = "application/json";
  const std::string base = take_base_url(block, "http://localhost:7700");
  access.url = base + "/indexes/" + take_name(block, "index") + "/search";
  std::string filters;
  if (const YamlNode* node = block.map.take("facet_filters"))
    filters = R"(,"filter":)" + with_doubled_braces(to_text(json_of(*node)));
  access.body = R"({{"q":"{query}","offset":{offset},"limit":{count})" + filters + "}}";
  if (const auto key = block.map.take_string("auth_key"); key && !key->empty())
    access.headers.emplace_back("Authorization", "Bearer " + *key);
  take_http_keys(block, access);
  block.engine.access = std::move(access);
}

void read_mediawiki(EngineBlock& block) {
  HttpAccess access;
  preset_server(access, "query/search");
  access.answer.is_content_html = true;
  access.answer.content = "snippet";
  access.answer.published = "timestamp";
  access.answer.suggestion = "searchinfo/suggestion";
  access.default_language = "en";
  std::string base = take_base_url(block, "https://{language}.wikipedia.org");
  const std::string path = block.map.take_string("api_path").value_or("w/api.php");
  const std::string search_type = block.map.take_string("search_type").value_or("nearmatch");
  access.url = base + "/" + with_doubled_braces(path) +
               "?action=query&list=search&format=json&srsearch={query}&sroffset={offset}&srlimit={count}" +
               parameter("srwhat", search_type) +
               take_parameter(block, "srprop", "srprop", "sectiontitle|snippet|timestamp|categorysnippet") +
               take_parameter(block, "srsort", "srsort", "relevance") +
               (block.map.take_bool("srenablerewrites").value_or(true) ? "&srenablerewrites=1" : "");
  replace_all(base, "{language}", "{lang}");
  access.answer.url = {};
  access.answer.url_format = base + "/wiki/{title|_}";
  take_http_keys(block, access);
  block.engine.access = std::move(access);
}

void read_groonga(EngineBlock& block) {
  HttpAccess access;
  preset_server(access, "");
  access.answer.format = AnswerRules::Format::groonga;
  access.answer.url = "_key";
  access.answer.content = "text";
  access.answer.score = "_score";
  const std::string columns = block.map.take_string("output_columns").value_or("_key,title,text,_score");
  access.url = take_base_url(block, "http://localhost:10041") +
               "/d/select?table=" + take_name(block, "table") +
               "&query={query}&offset={offset}&limit={count}" + parameter("output_columns", columns) +
               take_parameter(block, "match_columns", "match_columns", "title||text") +
               take_parameter(block, "sort_keys", "sort_keys", "-_score") +
               take_parameter(block, "query_flags", "query_flags", "NONE");
  take_http_keys(block, access);
  block.engine.access = std::move(access);
}

/// Reads answers of Omega's own template "xml": <hit url="" title="" sample="">. A definition may name
/// another template, with XPath for its parts.
void read_omega(EngineBlock& block) {
  HttpAccess access;
  access.answer.format = AnswerRules::Format::xml;
  access.answer.results = "//hit";
  access.answer.url = "./@url";
  access.answer.title = "./@title";
  access.answer.content = "./@sample";
  access.answer.score = "./@score";
  access.has_paging = true;
  const std::string base = take_base_url(block);
  access.url = base + "?P={query}&TOPDOC={offset}&HITSPERPAGE={count}" +
               take_parameter(block, "database", "DB") + take_parameter(block, "template", "FMT", "xml");
  take_http_keys(block, access);
  block.engine.access = std::move(access);
}

}  // namespace metafuse::fetchers
