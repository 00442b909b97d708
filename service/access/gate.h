#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/deadline.h"
#include "service/access/keys.h"
#include "service/access/quotas.h"
#include "service/access/rates.h"
#include "service/access/route_rules.h"
#include "service/base/metrics.h"
#include "service/http/exchange.h"

namespace metafuse::service {

/// The parts that a gate works with. `metrics` and `clock` must outlive it.
struct GateOptions {
  const ServerConfig& config;  ///< used only by the constructor
  Metrics& metrics;
  const Clock& clock;
  std::function<UnixTime()> unix_time;
  SharedUsage usage;  ///< the store's count of what keys used; may be empty
};

/// The name of the role that a key needs for routes with this access.
std::string_view role_name(Access access);

/// The one place that decides whether a request may proceed. It checks the host that the request names, its
/// API key, its client's rate, the role that the route needs, the page that sent it, the type of its body
/// and, for searches, the key's quota. No handler checks any of this. Safe from any thread. Only
/// admit_search() may block: it may ask a counter that several processes share.
class Gate {
 public:
  explicit Gate(const GateOptions& options);
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Fills in the exchange's fields about its client (client, is_https, traceparent, key, form) and checks
  /// the request.
  ///
  /// in:     rules - nullptr for a path that does not exist
  /// errors: 400 a malformed form; 401 an unknown key, or no key where one is needed; 403 a key without the
  ///         role, or a request from another site's page; 415 a wrong body type; 421 a Host that is not ours;
  ///         429 too many requests or wrong keys
  std::optional<AccessRefusal> check(const RouteRules* rules, Exchange& exchange);

  /// Looks for the key in the body of a request for which check() left that open (`awaits_key`), and makes
  /// the checks that depend on it. Parses the body: only a worker may call this.
  std::optional<AccessRefusal> check_key_in_body(const RouteRules& rules, Exchange& exchange);

  /// Charges the key's quota for the expanded queries that are about to be sent to engines.
  ///
  /// in:     has_raw - some of them skip the engine's syntax filter
  /// errors: 403 raw queries without the role; 429 the quota is too small for them; nothing is charged then
  std::optional<AccessRefusal> admit_search(const Exchange& exchange, std::size_t expanded_queries,
                                            bool has_raw = false);
  /// As admit_search(), for an answer that is served again: never asks the shared counter. Returns false
  /// unless this process knows that the quota suffices.
  bool admit_at_once(const Exchange& exchange, std::size_t expanded_queries);
  /// Charges a request that asks for several things at once for all but the first, which check() charged.
  ///
  /// in:     tokens - 1 per ordinary request
  ///
  /// errors: 429 when the client's rate does not allow them; nothing is charged then
  std::optional<AccessRefusal> admit_more(const Exchange& exchange, double tokens);

  void set_limits(const ServerConfig& config);

 private:
  std::optional<AccessRefusal> find_key(const RouteRules& rules, const std::string& presented,
                                        Exchange& exchange);
  std::optional<AccessRefusal> checked_with(const std::string& presented, const RouteRules& rules,
                                            Exchange& exchange);
  std::optional<AccessRefusal> noted(std::optional<AccessRefusal> refusal, Exchange& exchange);
  std::optional<AccessRefusal> take_tokens(const Exchange& exchange, double tokens);
  void check_action(const RouteRules& rules, Exchange& exchange);
  Admission take_of_key(const KeyConfig& key, double tokens);
  std::optional<AccessRefusal> checked(const RouteRules* rules, Exchange& exchange);

  Metrics& metrics_;
  const Clock& clock_;
  std::function<UnixTime()> unix_time_;
  RateLimiter limiter_;
  KeyGuard key_guard_;
  std::unique_ptr<SharedLimits> shared_limits_;
  Quotas quotas_;
  std::mutex key_limiters_mutex_;
  std::map<std::string, std::unique_ptr<RateLimiter>> key_limiters_;  ///< one per key that has a rate
};

}  // namespace metafuse::service
