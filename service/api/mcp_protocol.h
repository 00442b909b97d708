#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"
#include "service/http/message.h"

namespace metafuse::service::mcp {

/// The two variants of the Model Context Protocol over Streamable HTTP. One endpoint supports both.
enum class Era {
  session,    ///< 2025-11-25 and before: initialize first (no session id is needed here)
  stateless,  ///< 2026-07-28: every request is complete in itself
};

inline constexpr std::string_view kStatelessVersion = "2026-07-28";
inline constexpr std::string_view kLatestSessionVersion = "2025-11-25";
/// The version of requests without MCP-Protocol-Version.
inline constexpr std::string_view kAssumedVersion = "2025-03-26";

/// All versions, the latest first.
JsonArray supported_versions();

/// Error codes of JSON-RPC and of MCP.
enum class ErrorCode {
  parse = -32700,
  invalid_request = -32600,
  unknown_method = -32601,
  invalid_params = -32602,
  internal = -32603,
  header_mismatch = -32020,
  unsupported_version = -32022,
};

/// An error and the HTTP status that carries it.
struct RpcError {
  ErrorCode code = ErrorCode::internal;
  int status = 400;
  std::string message;
  JsonObject data = {};
};

/// One message of a request's body.
struct Message {
  Json id;  ///< null for a notification
  bool is_notification = false;
  bool is_response = false;  ///< a response by the client; the server sends no requests, so none is expected
  std::string method;
  JsonObject params;
};

/// The messages in a request's body.
///
/// errors: usage: not JSON, or nested too deeply
Result<Json> read_body(const HttpRequest& request);

/// The version that a message's _meta names, or "".
std::string meta_version(const Message& message);
/// The version that a session begins with: the one that `initialize` asks for, else the latest.
std::string agreed_version(const Message& message);

/// errors: -32600 for anything that is no JSON-RPC 2.0 message
std::optional<RpcError> read_message(const Json& value, Message& out);

/// Determines the era, and checks that the headers agree with the message.
///
/// errors: -32020 (400) headers that are missing or differ, -32022 (400) a version that is not supported
std::optional<RpcError> check_headers(const HttpRequest& request, const Message& message, Era& era);

Json result_message(const Json& id, JsonObject result);
Json error_message(const Json& id, const RpcError& error);

}  // namespace metafuse::service::mcp
