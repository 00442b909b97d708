#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include "core/json.h"
#include "service/access/gate.h"
#include "service/base/process.h"
#include "service/errors.h"
#include "service/handlers/handlers.h"
#include "service/handlers/mcp_tools.h"
#include "service/requests/mcp_protocol.h"
#include "service/searcher.h"

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
