#include "service/api/mcp_protocol.h"

#include <algorithm>
#include <array>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include "core/json_members.h"
#include "core/text.h"

namespace metafuse::service::mcp {
namespace {

constexpr std::array<std::string_view, 4> kSessionVersions = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                              "2024-11-05"};
constexpr std::string_view kMetaVersion = "io.modelcontextprotocol/protocolVersion";

bool is_session_version(std::string_view version) {
  return std::find(kSessionVersions.begin(), kSessionVersions.end(), version) != kSessionVersions.end();
}

RpcError unsupported(std::string_view version) {
  RpcError error{ErrorCode::unsupported_version, 400, "unsupported protocol version"};
  error.data["supported"] = supported_versions();
  error.data["requested"] = to_valid_utf8(version);  // a header may contain any bytes
  return error;
}

RpcError mismatch(std::string text) {
  return RpcError{ErrorCode::header_mismatch, 400, std::move(text)};
}

std::optional<RpcError> check_stateless(const HttpRequest& request, const Message& message) {
  const std::string said = meta_version(message);
  if (request.header("MCP-Protocol-Version").empty())
    return mismatch("MCP-Protocol-Version is missing; it must equal the protocolVersion of _meta");
  if (!message.is_notification && said != request.header("MCP-Protocol-Version"))
    return mismatch("MCP-Protocol-Version and _meta's protocolVersion differ");
  if (request.header("Mcp-Method") != message.method)
    return mismatch("Mcp-Method is missing or differs from the method");
  if (message.method == "tools/call" &&
      request.header("Mcp-Name") != JsonMembers(message.params).text_or_empty("name"))
    return mismatch("Mcp-Name is missing or differs from the tool's name");
  return std::nullopt;
}

}  // namespace

Result<Json> read_body(const HttpRequest& request) {
  return parse_json(request.body, "body", Code::usage, {.max_depth = 32});
}

std::string meta_version(const Message& message) {
  return JsonMembers(message.params).inner("_meta").text_or_empty(kMetaVersion);
}

std::string agreed_version(const Message& message) {
  const std::string wanted = JsonMembers(message.params).text_or_empty("protocolVersion");
  return is_session_version(wanted) ? wanted : std::string(kLatestSessionVersion);
}

JsonArray supported_versions() {
  JsonArray out{kStatelessVersion};
  for (const std::string_view version : kSessionVersions) out.emplace_back(version);
  return out;
}

std::optional<RpcError> read_message(const Json& value, Message& out) {
  const auto wrong = [](const char* what) { return RpcError{ErrorCode::invalid_request, 400, what}; };
  const JsonMembers object(value);
  if (!object.is_object()) return wrong("a message must be a JSON object");
  if (object.text_or_empty("jsonrpc") != "2.0") return wrong("jsonrpc must be \"2.0\"");
  const Json* id = object.find("id");
  if (id != nullptr && !id->is_string() && !id->is_int64() && !id->is_uint64())
    return wrong("id must be a string or a whole number");
  out.is_notification = id == nullptr;
  if (id != nullptr) out.id = *id;
  out.method = object.text_or_empty("method");
  out.is_response =
      out.method.empty() && (object.find("result") != nullptr || object.find("error") != nullptr);
  if (out.method.empty() && !out.is_response) return wrong("method is missing");
  if (const Json* params = object.find("params")) {
    if (!params->is_object()) return wrong("params must be an object");
    out.params = params->as_object();
  }
  return std::nullopt;
}

std::optional<RpcError> check_headers(const HttpRequest& request, const Message& message, Era& era) {
  const std::string_view header = request.header("MCP-Protocol-Version");
  const std::string meta = meta_version(message);
  if (!header.empty() && header != kStatelessVersion && !is_session_version(header))
    return unsupported(header);
  if (!meta.empty() && meta != kStatelessVersion && !is_session_version(meta)) return unsupported(meta);
  const bool is_stateless =
      header == kStatelessVersion || meta == kStatelessVersion || message.method == "server/discover";
  era = is_stateless ? Era::stateless : Era::session;
  return is_stateless ? check_stateless(request, message) : std::nullopt;
}

Json result_message(const Json& id, JsonObject result) {
  JsonObject out;
  out["jsonrpc"] = "2.0";
  out["id"] = id;
  out["result"] = std::move(result);
  return out;
}

Json error_message(const Json& id, const RpcError& error) {
  JsonObject inner;
  inner["code"] = static_cast<int>(error.code);
  inner["message"] = error.message;
  if (!error.data.empty()) inner["data"] = error.data;
  JsonObject out;
  out["jsonrpc"] = "2.0";
  out["id"] = id;
  out["error"] = std::move(inner);
  return out;
}

}  // namespace metafuse::service::mcp
