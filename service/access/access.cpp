#include "service/access/access.h"

#include <algorithm>

#include "core/ascii.h"
#include "service/access/presented_key.h"
#include "service/base/host.h"
#include "service/http/client_address.h"
#include "service/http/common_headers.h"

namespace metafuse::service {
namespace {

bool is_own_host(const ServerConfig& config, std::string_view host_header) {
  const std::string host = host_without_port(host_header);
  if (host.empty() || host == "localhost" || host == config.listen_host) return true;
  if (host == "127.0.0.1" || host == "::1") return true;
  return std::any_of(config.server_names.begin(), config.server_names.end(), [&](const std::string& name) {
    return name == "*" || equal_ignoring_case(name, host) || equal_ignoring_case(name, host_header);
  });
}

/// Whether the client sits on this machine, as far as can be told: what came through a proxy that is not
/// trusted to name its clients did not.
bool is_local(const Exchange& exchange) {
  const std::string& client = exchange.client;
  const bool is_loopback = client.starts_with("127.") || client == "::1" || client.starts_with("::ffff:127.");
  const bool was_forwarded =
      !exchange.request.header("X-Forwarded-For").empty() || !exchange.request.header("Forwarded").empty();
  return is_loopback && (!was_forwarded || client != exchange.request.peer);
}

/// Whether a route needs no key from this client.
bool is_open(const Route& route, const Exchange& exchange) {
  const ServerConfig& config = exchange.snapshot->config;
  switch (route.access) {
    case Access::open:
      return true;
    case Access::search:
      return !config.needs_key;
    case Access::metrics:
      return config.metrics == MetricsAccess::open ||
             (config.metrics == MetricsAccess::loopback && is_local(exchange));
    case Access::admin:
      return false;
  }
  return false;
}

Role role_of(Access access) {
  if (access == Access::admin) return Role::admin;
  return access == Access::metrics ? Role::metrics : Role::search;
}

std::optional<AccessRefusal> check_role(const Route& route, const Exchange& exchange) {
  if (is_open(route, exchange)) return std::nullopt;
  const Role role = role_of(route.access);
  if (exchange.key == nullptr)
    return AccessRefusal{
        401,
        "no_key",
        "this needs an API key; send Authorization: Bearer KEY, or give it to the browser as the password",
        {}};
  if (!exchange.may(role) && !exchange.may(Role::admin))
    return AccessRefusal{403, "role", "the key may not do this; ask for one with the role that it needs", {}};
  return std::nullopt;
}

/// The key that a request shows where keys count; not looked for where none does.
std::string key_of(const Route& route, const Exchange& exchange) {
  const ServerConfig& config = exchange.snapshot->config;
  if (route.access == Access::open || config.keys.empty()) return {};
  std::string key = presented_key(exchange.request);
  // where searching is open, a password is for the proxy in front; administrators' routes take none
  if (key.empty() && config.needs_key && route.access == Access::search) key = typed_key(exchange.request);
  return key;
}

}  // namespace

std::optional<AccessRefusal> check_access(const Route* route, KeyGuard& guard, Exchange& exchange) {
  const ServerConfig& config = exchange.snapshot->config;
  exchange.traceparent = next_traceparent(exchange.request.header("traceparent"));
  exchange.client = client_address(config.trusted_proxies, exchange.request);
  exchange.is_https = came_by_https(config.trusted_proxies, exchange.request);
  if (!is_own_host(config, exchange.request.header("Host")))
    return AccessRefusal{
        421, "host", "this server does not answer for that Host; add it to server_names", {}};
  if (route == nullptr) return std::nullopt;
  if (const std::string key = key_of(*route, exchange); !key.empty()) {
    const KeyGuard::Answer found =
        guard.find(config.keys, key, address_prefix(exchange.client), exchange.arrived);
    if (found.retry_after_seconds)
      return AccessRefusal{429, "key_rate", "too many wrong API keys from this address; wait",
                           found.retry_after_seconds};
    if (found.key == nullptr) return AccessRefusal{401, "bad_key", "the API key is not known here", {}};
    exchange.key = found.key;
  }
  return check_role(*route, exchange);
}

}  // namespace metafuse::service
