#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include "core/contract.h"
#include "core/json.h"
#include "service/access/gate.h"
#include "service/answers/dialects.h"
#include "service/answers/reasons.h"
#include "service/base/process.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/requests/json_fields.h"
#include "service/requests/mcp_protocol.h"
#include "service/searcher.h"

namespace metafuse::service::mcp {
namespace {

constexpr std::string_view kTools = R"json([
{"name":"web_search","title":"Fused web search",
 "description":"Searches several engines with the domain's search templates and fuses their results by a learned ranking. Give query, or slots as list_domains names them.",
 "inputSchema":{"type":"object","additionalProperties":false,"properties":{
  "query":{"type":"string","maxLength":4096,"description":"A plain query."},
  "slots":{"type":"object","additionalProperties":{"type":"string"},"description":"Values for the domain's slots, instead of query."},
  "domain":{"type":"string","description":"A name from list_domains; the default domain without it."},
  "limit":{"type":"integer","minimum":1,"maximum":200,"default":10},
  "explain":{"type":"boolean","default":false,"description":"Also say which template ranked each result where, and what weight that earned."}}},
 "outputSchema":{"type":"object","required":["query","results","total","fusion"],"properties":{
  "query":{"type":"string"},"total":{"type":"integer"},"fusion":{"type":"object"},
  "results":{"type":"array","items":{"type":"object","required":["rank","url","title","snippet","relative_score"],
   "properties":{"rank":{"type":"integer"},"url":{"type":"string"},"title":{"type":"string"},"snippet":{"type":"string"},
    "relative_score":{"type":"number","minimum":0,"maximum":1}}}}}},
 "annotations":{"readOnlyHint":true,"openWorldHint":true}},
{"name":"list_domains","title":"Search domains",
 "description":"The domains that can be searched, with their slots and how their results are fused.",
 "inputSchema":{"type":"object","additionalProperties":false,"properties":{}},
 "outputSchema":{"type":"object","required":["domains"],"properties":{"domains":{"type":"array","items":{"type":"object"}}}},
 "annotations":{"readOnlyHint":true,"openWorldHint":false}}
])json";

JsonObject text_result(std::string text, bool is_error) {
  JsonArray content;
  content.push_back(JsonObject{{"type", "text"}, {"text", std::move(text)}});
  JsonObject out;
  out["content"] = std::move(content);
  out["isError"] = is_error;
  return out;
}

struct SearchArguments {
  SearchRequest search;
  int limit = 10;
  bool is_explained = false;
};

Result<SearchArguments> read_arguments(const JsonObject& arguments) {
  JsonFields fields(arguments);
  SearchArguments out;
  out.search.text = fields.text("query").value_or("");
  out.search.domain = fields.text("domain", 64).value_or("");
  out.limit = fields.integer("limit", 1, 200).value_or(10);
  out.search.results = static_cast<std::size_t>(out.limit);
  out.is_explained = fields.flag("explain").value_or(false);
  out.search.slots.slots = fields.text_map("slots");
  fields.refuse_others({"query", "domain", "slots", "limit", "explain"});
  if (out.search.text.empty() && out.search.slots.slots.empty()) fields.set_mistake("give query or slots");
  if (fields.has_failed()) return fields.error();
  return out;
}

std::string readable(const SearchAnswer& answer, const ShownResults& shown) {
  std::string out;
  std::size_t rank = shown.first;
  for (const std::size_t at : shown.positions) {
    const FusedResult& result = answer.results[at];
    out += std::to_string(++rank) + ". " + result.hit.title + "\n   " + result.hit.url + '\n';
    if (!result.hit.snippet.empty()) out += "   " + result.hit.snippet + '\n';
  }
  if (out.empty()) out = "No engine found anything for this query.\n";
  for (const auto& list : answer.lists)
    if (list.has_failed()) out += "Missing: " + list.query.feature_name() + " (" + failure_text(list) + ")\n";
  return out;
}

JsonObject web_search(Searcher& searcher, const Exchange& exchange, const JsonObject& arguments,
                      std::optional<FoundSearch>& found) {
  const auto wanted = read_arguments(arguments);
  if (!wanted) return text_result(wanted.error().text, true);
  auto searched = searcher.find(exchange, {wanted->search, 0, wanted->limit});
  if (!searched) return text_result(searched.error().text, true);
  found = std::move(*searched);
  JsonObject out = text_result(readable(*found->answer, found->shown), false);
  out["structuredContent"] =
      native_json(*exchange.snapshot, *found->answer, found->shown, wanted->is_explained);
  return out;
}

JsonObject domain_json(const LoadedDomain& domain, bool is_default) {
  JsonArray slots;
  for (const templates::Slot& slot : domain.domain.slots)
    slots.push_back(
        JsonObject{{"name", slot.name}, {"required", slot.is_required}, {"description", slot.description}});
  JsonObject out;
  out["name"] = domain.domain.name;
  out["description"] = domain.domain.description;
  out["default"] = is_default;
  out["slots"] = std::move(slots);
  out["templates"] = domain.domain.templates.size();
  out["fusion"] = domain.model ? domain.model->learner : std::string("rrf");
  return out;
}

JsonObject list_domains(const Exchange& exchange) {
  JsonArray domains;
  std::string text;
  const LoadedDomain* chosen = exchange.find_domain("");
  for (const LoadedDomain* domain : exchange.domains()) {
    domains.push_back(domain_json(*domain, domain == chosen));
    text += domain->domain.name + ": " + domain->domain.description + "; slots";
    for (const templates::Slot& slot : domain->domain.slots)
      text += ' ' + slot.name + (slot.is_required ? "*" : "");
    text += '\n';
  }
  JsonObject out = text_result(std::move(text), false);
  out["structuredContent"] = JsonObject{{"domains", std::move(domains)}};
  return out;
}

/// The tools, always in the same order.
JsonArray tool_list() {
  auto tools = parse_json(kTools, "tools");
  require(tools.has_value() && tools->is_array(), "the table of tools is JSON");
  return tools->as_array();
}

/// Runs a tool. What goes wrong inside it is a result with isError, as the protocol wants.
///
/// out: nothing for a tool that does not exist; found - the search behind the result, when there is one
std::optional<JsonObject> call_tool(Searcher& searcher, const Exchange& exchange, std::string_view name,
                                    const JsonObject& arguments, std::optional<FoundSearch>& found) {
  if (name == "web_search") return web_search(searcher, exchange, arguments, found);
  if (name == "list_domains") return list_domains(exchange);
  return std::nullopt;
}

}  // namespace
}  // namespace metafuse::service::mcp

namespace metafuse::service {
namespace {

using mcp::Era;
using mcp::Message;
using mcp::RpcError;

constexpr int kTimeToLiveMs = 300'000;
constexpr std::size_t kMaxBatch = 20;
constexpr std::string_view kInstructions =
    "web_search fuses the results of several search engines by a ranking learned from judged queries; "
    "list_domains names what can be searched and with which slots.";

/// What one message came to: a reply, or only a status for a notification.
struct Outcome {
  int status = 200;
  std::optional<Json> reply;
  std::optional<FoundSearch> found = {};  ///< the search behind the reply
};

JsonObject server_info() {
  return JsonObject{{"name", "metafuse"}, {"version", version()}};
}

void add_cache_hints(Era era, JsonObject& result) {
  if (era != Era::stateless) return;
  result["ttlMs"] = kTimeToLiveMs;
  result["cacheScope"] = "public";
}

JsonObject initialize(const Message& message) {
  const Json* wanted = message.params.if_contains("protocolVersion");
  const bool is_spoken =
      wanted != nullptr && wanted->is_string() && mcp::is_session_version(wanted->as_string());
  JsonObject result;
  result["protocolVersion"] = is_spoken ? *wanted : Json(mcp::kLatestSessionVersion);
  result["capabilities"] = JsonObject{{"tools", JsonObject{{"listChanged", false}}}};
  result["serverInfo"] = server_info();
  result["instructions"] = kInstructions;
  return result;
}

JsonObject discover() {
  JsonObject result;
  result["supportedVersions"] = mcp::supported_versions();
  result["capabilities"] = JsonObject{{"tools", JsonObject{}}};
  result["instructions"] = kInstructions;
  result["_meta"] = JsonObject{{"io.modelcontextprotocol/serverInfo", server_info()}};
  add_cache_hints(Era::stateless, result);
  return result;
}

/// The result of one method, or why there is none.
std::optional<RpcError> run_method(Searcher& searcher, const Exchange& exchange, Era era,
                                   const Message& message, JsonObject& result,
                                   std::optional<FoundSearch>& found) {
  const std::string& method = message.method;
  if (era == Era::session && method == "initialize") {
    result = initialize(message);
  } else if (era == Era::session && method == "ping") {
    result = JsonObject{};
  } else if (era == Era::stateless && method == "server/discover") {
    result = discover();
  } else if (method == "tools/list") {
    result["tools"] = mcp::tool_list();
    add_cache_hints(era, result);
  } else if (method == "tools/call") {
    const Json* name = message.params.if_contains("name");
    const Json* arguments = message.params.if_contains("arguments");
    if (name == nullptr || !name->is_string() || (arguments != nullptr && !arguments->is_object()))
      return RpcError{
          mcp::ErrorCode::invalid_params, 200, "tools/call needs a name and an object of arguments", {}};
    auto called = mcp::call_tool(searcher, exchange, name->as_string(),
                                 arguments == nullptr ? JsonObject() : arguments->as_object(), found);
    if (!called)
      return RpcError{
          mcp::ErrorCode::invalid_params, 200, "unknown tool: " + std::string(name->as_string()), {}};
    result = std::move(*called);
  } else {
    const int status = era == Era::stateless ? 404 : 200;
    return RpcError{mcp::ErrorCode::unknown_method, status, "method not found: " + method, {}};
  }
  if (era == Era::stateless) result["resultType"] = "complete";
  return std::nullopt;
}

Outcome failed(const Json& id, const RpcError& error) {
  return Outcome{error.status, mcp::error_message(id, error)};
}

Outcome answer_message(Searcher& searcher, const Exchange& exchange, const Json& value) {
  Message message;
  if (auto error = mcp::read_message(value, message)) return failed(nullptr, *error);
  Era era = Era::session;
  if (auto error = mcp::check_headers(exchange.request, message, era)) return failed(message.id, *error);
  if (message.is_notification || message.is_response) return Outcome{202, std::nullopt};
  Outcome out;
  JsonObject result;
  if (auto error = run_method(searcher, exchange, era, message, result, out.found))
    return failed(message.id, *error);
  out.reply = mcp::result_message(message.id, std::move(result));
  return out;
}

bool is_call(const Json& message) {
  const Json* method = message.is_object() ? message.get_object().if_contains("method") : nullptr;
  return method != nullptr && method->is_string() && method->get_string() == "tools/call";
}

/// Batches belong to 2025-03-26 alone. Each call costs what one alone would.
Outcome answer_batch(Searcher& searcher, Gate& gate, const Exchange& exchange, const JsonArray& batch) {
  const std::string_view version = exchange.request.header("MCP-Protocol-Version");
  if (!version.empty() && version != mcp::kAssumedVersion)
    return failed(nullptr, {mcp::ErrorCode::invalid_request, 400, "this version has no batches", {}});
  if (batch.empty() || batch.size() > kMaxBatch)
    return failed(nullptr, {mcp::ErrorCode::invalid_request, 400, "a batch has 1 to 20 messages", {}});
  const auto calls = static_cast<std::size_t>(std::count_if(batch.begin(), batch.end(), is_call));
  if (auto refused = gate.admit_more(exchange, calls - std::min<std::size_t>(calls, 1)))
    return failed(nullptr, {mcp::ErrorCode::invalid_request, refused->status, refused->text, {}});
  JsonArray replies;
  for (const Json& item : batch)
    if (auto outcome = answer_message(searcher, exchange, item); outcome.reply)
      replies.push_back(std::move(*outcome.reply));
  if (replies.empty()) return Outcome{202, std::nullopt};
  return Outcome{200, std::move(replies)};
}

/// A search's reply: equal calls differ in their ids alone.
HttpResponse found_response(Searcher& searcher, const Exchange& exchange, Outcome outcome) {
  JsonObject& reply = outcome.reply->as_object();
  const std::string mark = new_mark();
  outcome.found->marks.push_back({Gap::request_id, '"' + mark + '"', to_text(reply.at("id"))});
  reply["id"] = mark;
  return searcher.finish(exchange, std::move(*outcome.found),
                         make_response(200, "application/json", to_text(reply)));
}

}  // namespace

HttpResponse handle_mcp(Searcher& searcher, Gate& gate, const Exchange& exchange) {
  JsonLimits limits;
  limits.max_depth = 32;
  const auto body = parse_json(exchange.request.body, "body", Code::usage, limits);
  Outcome outcome;
  if (!body)
    outcome = failed(nullptr, {mcp::ErrorCode::parse, 400, body.error().text, {}});
  else if (body->is_array())
    outcome = answer_batch(searcher, gate, exchange, body->as_array());
  else
    outcome = answer_message(searcher, exchange, *body);
  if (outcome.found) return found_response(searcher, exchange, std::move(outcome));
  if (outcome.reply) return make_response(outcome.status, "application/json", to_text(*outcome.reply));
  HttpResponse response;
  response.status = outcome.status;
  return response;
}

}  // namespace metafuse::service
