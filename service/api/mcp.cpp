#include <algorithm>
#include <chrono>
#include <span>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include "core/json.h"
#include "core/json_members.h"
#include "service/access/gate.h"
#include "service/api/finder.h"
#include "service/api/handlers.h"
#include "service/api/mcp_protocol.h"
#include "service/api/mcp_tools.h"
#include "service/api/native.h"
#include "service/base/process.h"
#include "service/search/indexed_pages.h"
#include "service/search/shown_results.h"

// POST /mcp, the Model Context Protocol over Streamable HTTP: reads JSON-RPC messages, runs the tools of
// mcp_tools.h, and answers in the protocol era of the message.

namespace metafuse::service::mcp {
namespace {

constexpr std::chrono::seconds kPageTime{10};

JsonObject text_result(std::string text, bool is_error) {
  JsonArray content;
  content.push_back(JsonObject{{"type", "text"}, {"text", std::move(text)}});
  JsonObject out;
  out["content"] = std::move(content);
  out["isError"] = is_error;
  return out;
}

/// What the tools work with.
struct Tools {
  Finder& finder;
  PageReader& pages;
  const Exchange& exchange;
};

/// Runs a search tool. The answer is plain text only, unless an explanation is requested.
JsonObject search_with(const Tools& parts, const SearchTool& tool, const JsonObject& arguments,
                       std::optional<FoundSearch>& found) {
  const Exchange& exchange = parts.exchange;
  const auto wanted = read_tool_search(tool, arguments);
  if (!wanted) return text_result(wanted.error().text, true);
  // with a filter, the tool itself chooses among all results
  auto searched = parts.finder.find(
      exchange,
      {wanted->search, wanted->is_filtered() ? 0 : wanted->limit, {}, correction_for(wanted->is_verbatim)});
  if (!searched) return text_result(searched.error().text, true);
  found = std::move(*searched);
  const SearchAnswer& answer = *found->answer;
  if (wanted->is_filtered()) {
    auto filtered = filtered_results(answer, *wanted, parts.finder.unix_time());
    filtered.corrections = std::move(found->shown.corrections);
    filtered.typed = std::move(found->shown.typed);
    found->shown = std::move(filtered);
  }
  const ShownResults& shown = found->shown;
  const int depth = exchange.snapshot->find_domain(answer.domain)->domain.depth;
  JsonObject out = text_result(lean_text(answer, shown, *wanted, may_go_on(answer, shown, depth)), false);
  if (wanted->is_explained) out["structuredContent"] = native_json(*exchange.snapshot, answer, shown, true);
  return out;
}

/// The tool `search` of connectors.
JsonObject connector_search(const Tools& parts, const JsonObject& arguments,
                            std::optional<FoundSearch>& found) {
  const auto wanted = read_connector_search(arguments);
  if (!wanted) return text_result(wanted.error().text, true);
  auto searched = parts.finder.find(parts.exchange, {wanted->search, wanted->limit});
  if (!searched) return text_result(searched.error().text, true);
  found = std::move(*searched);
  return text_result(connector_results(*found->answer, found->shown), false);
}

/// The page that a call wants, if the client may have it read.
Result<SharedPage> read_page(const Tools& parts, const Result<PageCall>& wanted) {
  TRY_VOID(check_page_access(parts.exchange.snapshot->config.pages, parts.exchange.key != nullptr));
  if (!wanted) return wanted.error();
  return read_pages(parts.pages, parts.exchange, std::span(&wanted->url, 1), wanted->form, kPageTime).front();
}

JsonObject fetch_page(const Tools& parts, const JsonObject& arguments) {
  const auto wanted = read_page_call(arguments);
  const auto page = read_page(parts, wanted);
  if (!page) return text_result(page.error().text, true);
  return text_result(page_text(*wanted, (*page)->title, (*page)->url, (*page)->text), false);
}

/// The tool `fetch` of connectors.
JsonObject connector_fetch(const Tools& parts, const JsonObject& arguments) {
  const auto wanted = read_connector_fetch(arguments);
  const auto page = read_page(parts, wanted);
  if (!page) return text_result(page.error().text, true);
  return text_result(to_text(JsonObject{{"id", wanted->url},
                                        {"title", (*page)->title},
                                        {"text", (*page)->text},
                                        {"url", (*page)->url},
                                        {"metadata", JsonObject()}}),
                     false);
}

JsonObject domain_json(const SearchTool& tool, bool is_default) {
  const LoadedDomain& domain = *tool.domain;
  JsonArray slots;
  for (const templates::Slot& slot : domain.domain.slots)
    slots.push_back(
        JsonObject{{"name", slot.name}, {"required", slot.is_required}, {"description", slot.description}});
  JsonObject out;
  out["name"] = domain.domain.name;
  out["tool"] = tool.name;
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
  for (const SearchTool& tool : domain_tools(*exchange.snapshot, exchange.key)) {
    const templates::Domain& domain = tool.domain->domain;
    domains.push_back(domain_json(tool, tool.domain == chosen));
    text += domain.name + " (tool " + tool.name + "): ";
    if (!domain.description.empty()) text += domain.description + "; ";
    text += "slots";
    for (const templates::Slot& slot : domain.slots) text += ' ' + slot.name + (slot.is_required ? "*" : "");
    text += '\n';
  }
  JsonObject out = text_result(std::move(text), false);
  out["structuredContent"] = JsonObject{{"domains", std::move(domains)}};
  return out;
}

/// Runs a tool. An error inside the tool is a result with isError, as the protocol requires.
///
/// out: nothing for a tool that does not exist; found - the search behind the result, if there is one
std::optional<JsonObject> call_tool(const Tools& parts, std::string_view name, const JsonObject& arguments,
                                    std::optional<FoundSearch>& found) {
  const Exchange& exchange = parts.exchange;
  if (name == kListDomains) return list_domains(exchange);
  if (name == kFetchPage) return fetch_page(parts, arguments);
  if (name == kConnectorSearch) return connector_search(parts, arguments, found);
  if (name == kConnectorFetch) return connector_fetch(parts, arguments);
  const auto tool = find_search_tool(*exchange.snapshot, exchange.key, name);
  if (!tool) return std::nullopt;
  return search_with(parts, *tool, arguments, found);
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
    "Each search tool asks several engines and fuses their lists by a ranking learned from judged queries. "
    "Choose the tool whose description fits; list_domains names all that can be searched.";

/// The outcome of one message: a reply, or only a status for a notification.
struct Outcome {
  int status = 200;
  std::optional<Json> reply;
  std::optional<FoundSearch> found = {};  ///< the search behind the reply
};

JsonObject server_info() {
  return JsonObject{{"name", "metafuse"}, {"version", version()}};
}

/// in: is_for_all - the result is the same for every key
void add_cache_hints(Era era, bool is_for_all, JsonObject& result) {
  if (era != Era::stateless) return;
  result["ttlMs"] = kTimeToLiveMs;
  result["cacheScope"] = is_for_all ? "public" : "private";
}

JsonObject initialize(const Message& message) {
  JsonObject result;
  result["protocolVersion"] = mcp::agreed_version(message);
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
  add_cache_hints(Era::stateless, true, result);
  return result;
}

/// The names of a client's tools, for an error.
std::string tool_names(const Snapshot& snapshot, const KeyConfig* key) {
  std::string out;
  for (const Json& tool : mcp::tool_list(snapshot, key))
    out += (out.empty() ? "" : ", ") + std::string(tool.at("name").as_string());
  return out;
}

/// The result of one method.
///
/// out: found - the search behind the result, if there is one
boost::system::result<JsonObject, RpcError> run_method(const mcp::Tools& parts, Era era,
                                                       const Message& message,
                                                       std::optional<FoundSearch>& found) {
  const Exchange& exchange = parts.exchange;
  const std::string& method = message.method;
  JsonObject result;
  if (era == Era::session && method == "initialize") {
    result = initialize(message);
  } else if (era == Era::session && method == "ping") {
    result = JsonObject{};
  } else if (era == Era::stateless && method == "server/discover") {
    result = discover();
  } else if (method == "tools/list") {
    result["tools"] = mcp::tool_list(*exchange.snapshot, exchange.key);
    add_cache_hints(era, exchange.key == nullptr, result);
  } else if (method == "tools/call") {
    const JsonMembers params(message.params);
    const auto* name = params.text("name");
    const Json* arguments = params.find("arguments");
    if (name == nullptr || (arguments != nullptr && !arguments->is_object()))
      return RpcError{mcp::ErrorCode::invalid_params, 200,
                      "tools/call needs a name and an object of arguments"};
    auto called =
        mcp::call_tool(parts, *name, arguments == nullptr ? JsonObject() : arguments->as_object(), found);
    if (!called)
      return RpcError{mcp::ErrorCode::invalid_params, 200,
                      "unknown tool: " + std::string(*name) + "; tools are " +
                          tool_names(*exchange.snapshot, exchange.key)};
    result = std::move(*called);
  } else {
    const int status = era == Era::stateless ? 404 : 200;
    return RpcError{mcp::ErrorCode::unknown_method, status, "method not found: " + method};
  }
  if (era == Era::stateless) result["resultType"] = "complete";
  return result;
}

Outcome failed(const Json& id, const RpcError& error) {
  return Outcome{error.status, mcp::error_message(id, error)};
}

Outcome answer_message(const mcp::Tools& parts, const Json& value) {
  Message message;
  if (auto error = mcp::read_message(value, message)) return failed(nullptr, *error);
  Era era = Era::session;
  if (auto error = mcp::check_headers(parts.exchange.request, message, era))
    return failed(message.id, *error);
  if (message.is_notification || message.is_response) return Outcome{202, std::nullopt};
  Outcome out;
  auto result = run_method(parts, era, message, out.found);
  if (!result) return failed(message.id, result.error());
  out.reply = mcp::result_message(message.id, std::move(*result));
  return out;
}

bool is_call(const Json& message) {
  return JsonMembers(message).text_or_empty("method") == "tools/call";
}

/// Answers a batch, which only version 2025-03-26 has. Each call costs the same as a call outside of a batch.
Outcome answer_batch(const mcp::Tools& parts, Gate& gate, const JsonArray& batch) {
  const Exchange& exchange = parts.exchange;
  const std::string_view version = exchange.request.header("MCP-Protocol-Version");
  if (!version.empty() && version != mcp::kAssumedVersion)
    return failed(nullptr,
                  {mcp::ErrorCode::invalid_request, 400, "this protocol version does not allow batches"});
  if (batch.empty() || batch.size() > kMaxBatch)
    return failed(nullptr, {mcp::ErrorCode::invalid_request, 400, "a batch must have 1 to 20 messages"});
  const auto calls = static_cast<double>(std::count_if(batch.begin(), batch.end(), is_call));
  if (auto refused = gate.admit_more(exchange, std::max(calls - 1, 0.0)))
    return failed(nullptr, {mcp::ErrorCode::invalid_request, refused->status, refused->text});
  JsonArray replies;
  for (const Json& item : batch)
    if (auto outcome = answer_message(parts, item); outcome.reply)
      replies.push_back(std::move(*outcome.reply));
  if (replies.empty()) return Outcome{202, std::nullopt};
  return Outcome{200, std::move(replies)};
}

/// The response to a search. The request's id becomes a gap, because equal calls differ only in their ids.
HttpResponse found_response(Outcome outcome) {
  JsonObject& reply = outcome.reply->as_object();
  const std::string mark = new_mark();
  const GapMark id{Gap::request_id, '"' + mark + '"', to_text(reply.at("id"))};
  reply["id"] = mark;
  return outcome.found->response(json_response(reply), {id});
}

}  // namespace

HttpResponse handle_mcp(Finder& finder, PageReader& pages, Gate& gate, const Exchange& exchange) {
  const mcp::Tools parts{finder, pages, exchange};
  const auto body = exchange.json ? Result<Json>(*exchange.json) : mcp::read_body(exchange.request);
  Outcome outcome;
  if (!body)
    outcome = failed(nullptr, {mcp::ErrorCode::parse, 400, body.error().text});
  else if (body->is_array())
    outcome = answer_batch(parts, gate, body->as_array());
  else
    outcome = answer_message(parts, *body);
  if (outcome.found) return found_response(std::move(outcome));
  if (outcome.reply) return make_response(outcome.status, "application/json", to_text(*outcome.reply));
  HttpResponse response;
  response.status = outcome.status;
  return response;
}

}  // namespace metafuse::service
