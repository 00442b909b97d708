#include "service/access/presented_key.h"

#include <optional>
#include <string_view>

#include "core/ascii.h"
#include "core/base64.h"
#include "service/errors.h"
#include "service/http/request_body.h"
#include "service/http/same_origin.h"

namespace metafuse::service {
namespace {

/// What follows the name of a scheme in `Authorization`, or nothing where it is another scheme.
std::optional<std::string_view> credentials(const HttpRequest& request, std::string_view scheme) {
  const std::string_view value = request.header("Authorization");
  if (value.size() <= scheme.size() || value[scheme.size()] != ' ' ||
      !equal_ignoring_case(value.substr(0, scheme.size()), scheme))
    return std::nullopt;
  return value.substr(scheme.size() + 1);
}

/// Older clients of Tavily send their key as a member of the body.
std::string key_in_body(const HttpRequest& request) {
  if (dialect_of(request) != Dialect::tavily || request.body.find("\"api_key\"") == std::string::npos)
    return {};
  const auto body = json_body(request);
  const Json* key = body ? body->if_contains("api_key") : nullptr;
  return key != nullptr && key->is_string() ? std::string(key->get_string()) : std::string();
}

}  // namespace

std::string presented_key(const HttpRequest& request) {
  if (const auto token = credentials(request, "Bearer"); token && !token->empty()) return std::string(*token);
  if (const std::string_view key = request.header("X-API-Key"); !key.empty()) return std::string(key);
  return key_in_body(request);
}

std::string typed_key(const HttpRequest& request) {
  const bool may_change = request.method != "GET" && request.method != "HEAD";
  if (may_change && !is_same_origin(request)) return {};
  const auto name_and_password = base64_decoded(credentials(request, "Basic").value_or(""));
  if (!name_and_password) return {};
  const std::size_t colon = name_and_password->find(':');
  return colon == std::string::npos ? std::string() : name_and_password->substr(colon + 1);
}

}  // namespace metafuse::service
