// Vector search servers, and hosted search services, each as a preset of an HTTP engine. {vector} in a body
// is the vector of the expanded query from the engine's `embedding:`.

#include <algorithm>

#include "core/encoding.h"
#include "core/json.h"
#include "core/url_text.h"
#include "fetchers/definition/engine_types.h"
#include "fetchers/definition/request_template.h"

namespace metafuse::fetchers {
namespace {

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

/// A name that is inserted unquoted into a request's query language: letters, digits, `_`, `-` and `.` only.
std::string take_identifier(EngineBlock& block, std::string_view key, const std::string& preset = {}) {
  const YamlNode* node = preset.empty() ? block.map.take_required(key) : block.map.take(key);
  std::string name = block.map.take_string(key).value_or(preset);
  if (node != nullptr && node->is_scalar() && !is_identifier(name))
    block.diagnostics.error(node->place, std::string(key) + ": \"" + name +
                                             "\" is not a valid name; use letters, digits, _, - and .");
  return name;
}

/// `,"key":JSON` for a YAML value, or nothing if it is absent. Braces are doubled for the template.
std::string take_json_member(EngineBlock& block, std::string_view key, std::string_view member) {
  const YamlNode* node = block.map.take(key);
  if (node == nullptr) return {};
  return ",\"" + std::string(member) + "\":" + with_doubled_braces(to_text(json_of(*node)));
}

std::string text_member(std::string_view member, const std::string& text) {
  return text.empty() ? std::string()
                      : ",\"" + std::string(member) + "\":" + with_doubled_braces(to_text(Json(text)));
}

/// Adds a header with the value of `api_key`.
void take_key_header(EngineBlock& block, HttpAccess& access, std::string_view header,
                     std::string_view before = {}) {
  if (const auto key = block.map.take_string("api_key"); key && !key->empty())
    access.headers.emplace_back(std::string(header), std::string(before) + *key);
}

PartRule either(std::string first, std::string second) {
  PartRule rule(std::move(first));
  rule.paths.push_back(std::move(second));
  rule.has_fallbacks = true;
  return rule;
}

/// Access to a server that answers in JSON; each result has url, title, and content or text below `where`.
HttpAccess server_with(std::string results, const std::string& where, std::string score) {
  HttpAccess access;
  access.method = "POST";
  access.content_type = "application/json";
  access.has_paging = true;
  access.answer.format = AnswerRules::Format::json;
  access.answer.results = std::move(results);
  access.answer.url = "$" + where + "/url";
  access.answer.title = "$" + where + "/title";
  access.answer.content = either("$" + where + "/content", "$" + where + "/text");
  access.answer.score = std::move(score);
  return access;
}

void finish_server(EngineBlock& block, HttpAccess& access) {
  take_http_keys(block, access);
  block.engine.access = std::move(access);
}

}  // namespace

/// source: Qdrant's REST API, "Query points" (1.10 and later)
void read_qdrant(EngineBlock& block) {
  HttpAccess access = server_with("$/result/points", "/payload", "$/score");
  access.url = take_base_url(block, "http://localhost:6333") + "/collections/" +
               take_identifier(block, "collection") + "/points/query";
  access.body = R"({{"query":{vector},"limit":{count},"offset":{offset},"with_payload":true)" +
                text_member("using", block.map.take_string("vector_field").value_or("")) +
                take_json_member(block, "filter", "filter") + "}}";
  take_key_header(block, access, "api-key");
  finish_server(block, access);
}

/// source: Weaviate's GraphQL API, Get with nearVector or hybrid
void read_weaviate(EngineBlock& block) {
  const std::string collection = take_identifier(block, "collection");
  HttpAccess access = server_with("$/data/Get/" + collection, "", "");
  std::string fields;
  for (const std::string& field :
       block.map.take_strings("fields").value_or(std::vector<std::string>{"url", "title", "content"})) {
    if (!is_identifier(field))
      block.diagnostics.error(
          block.map.take("fields")->place,
          "fields: \"" + field + "\" is not a valid name; use letters, digits, _, - and .");
    fields += " " + field;
  }
  const auto alpha = block.map.take_number("alpha", 0, 1);
  const std::string how =
      alpha ? "hybrid:{{query:\\\"{query}\\\",vector:{vector},alpha:" + to_text(Json(*alpha)) + "}}"
            : "nearVector:{{vector:{vector}}}";
  access.url = take_base_url(block, "http://localhost:8080") + "/v1/graphql";
  access.body = R"({{"query":"{{Get{{)" + collection + "(" + how + ",limit:{count},offset:{offset}){{" +
                fields + R"( _additional{{id score}} }}}}}}"}})";
  take_key_header(block, access, "Authorization", "Bearer ");
  finish_server(block, access);
}

/// source: Milvus' RESTful API v2, "Search"
void read_milvus(EngineBlock& block) {
  HttpAccess access = server_with("$/data", "", "$/distance");
  access.url = take_base_url(block, "http://localhost:19530") + "/v2/vectordb/entities/search";
  JsonArray fields;
  for (const std::string& field :
       block.map.take_strings("fields").value_or(std::vector<std::string>{"url", "title", "content"}))
    fields.push_back(Json(field));
  access.body = R"({{"collectionName":")" + take_identifier(block, "collection") +
                R"(","data":[{vector}],"annsField":")" + take_identifier(block, "vector_field", "vector") +
                R"(","limit":{count},"offset":{offset},"outputFields":)" +
                with_doubled_braces(to_text(fields)) +
                text_member("dbName", block.map.take_string("database").value_or("")) +
                text_member("filter", block.map.take_string("filter").value_or("")) + "}}";
  take_key_header(block, access, "Authorization", "Bearer ");
  finish_server(block, access);
}

/// source: Pinecone's API 2025-01, "Search with a vector"
void read_pinecone(EngineBlock& block) {
  HttpAccess access = server_with("$/matches", "/metadata", "$/score");
  access.has_paging = false;
  access.url = take_base_url(block) + "/query";
  access.body = R"({{"vector":{vector},"topK":{count},"includeMetadata":true)" +
                text_member("namespace", block.map.take_string("namespace").value_or("")) +
                take_json_member(block, "filter", "filter") + "}}";
  take_key_header(block, access, "Api-Key");
  access.headers.emplace_back("X-Pinecone-API-Version", "2025-01");
  finish_server(block, access);
}

/// source: Vespa's query API; nearestNeighbor, and userQuery for hybrid
void read_vespa(EngineBlock& block) {
  HttpAccess access = server_with("$/root/children", "/fields", "$/relevance");
  access.answer.may_lack_results = true;  // without hits there are no children
  const std::string field = take_identifier(block, "vector_field", "embedding");
  const std::string tensor = take_identifier(block, "query_tensor", "q");
  const auto targets = block.map.take_integer("target_hits", 1, 10000).value_or(100);
  const std::string nearest =
      "({{targetHits:" + std::to_string(targets) + "}}nearestNeighbor(" + field + "," + tensor + "))";
  const bool is_hybrid = block.map.take_bool("hybrid").value_or(false);
  access.url = take_base_url(block, "http://localhost:8080") + "/search/";
  access.body = R"({{"yql":"select * from )" + take_identifier(block, "schema") + " where " +
                (is_hybrid ? "userQuery() or " + nearest : nearest) + R"(",)" +
                (is_hybrid ? R"("query":"{query}",)" : "") + R"-("input.query()-" + tensor +
                R"-()":{vector},"hits":{count},"offset":{offset})-" +
                text_member("ranking", block.map.take_string("ranking").value_or("")) + "}}";
  finish_server(block, access);
}

/// Keyword search by `query_by`, vector search by `vector_field`, or both.
///
/// source: Typesense's API, multi_search (the form for long vectors)
void read_typesense(EngineBlock& block) {
  HttpAccess access = server_with("$/results/0/hits", "/document", "");
  access.url = take_base_url(block, "http://localhost:8108") + "/multi_search";
  const std::string words = block.map.take_string("query_by").value_or("");
  const std::string field = block.map.take_string("vector_field").value_or("");
  if (words.empty() && field.empty())
    block.diagnostics.error(block.map.place(),
                            "query_by (text fields) and vector_field are both missing; set at least one");
  if (!field.empty()) take_identifier(block, "vector_field");
  access.body = R"({{"searches":[{{"collection":")" + take_identifier(block, "collection") + R"(","q":")" +
                (words.empty() ? "*" : "{query}") + R"(","page":{pageno},"per_page":{count})" +
                text_member("query_by", words) +
                (field.empty() ? "" : R"(,"vector_query":")" + field + R"-(:({vector},k:{count})")-") +
                text_member("filter_by", block.map.take_string("filter").value_or("")) + "}}]}}";
  take_key_header(block, access, "X-TYPESENSE-API-KEY");
  finish_server(block, access);
}

/// source: Algolia's search API, "Search an index"
void read_algolia(EngineBlock& block) {
  HttpAccess access = server_with("$/hits", "", "");
  access.first_page = 0;
  const std::string application = take_identifier(block, "application_id");
  access.url = take_base_url(block, "https://" + application + "-dsn.algolia.net") + "/1/indexes/" +
               with_doubled_braces(percent_encoded(block.map.take_required_string("index"))) + "/query";
  access.body = R"({{"query":"{query}","page":{pageno},"hitsPerPage":{count})" +
                text_member("filters", block.map.take_string("filter").value_or("")) + "}}";
  access.headers.emplace_back("X-Algolia-Application-Id", application);
  take_key_header(block, access, "X-Algolia-API-Key");
  finish_server(block, access);
}

}  // namespace metafuse::fetchers
