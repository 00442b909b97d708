#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/deadline.h"
#include "service/access/keys.h"
#include "service/access/rates.h"
#include "service/access/route_rules.h"
#include "service/base/metrics.h"
#include "service/http/exchange.h"

namespace metafuse::service {

/// What a gate works with. `metrics` and `clock` must outlive it.
struct GateOptions {
  const ServerConfig& config;  ///< read while the gate is made
  Metrics& metrics;
  const Clock& clock;
  std::function<UnixTime()> unix_time;
  SharedUsage usage;  ///< a store's count of what keys used; may be empty
};

/// The one place where it is decided whether a request may go on: the host it names, the key it shows, its
/// client's rate, the role that its route needs, the page that sent it, the type of its body; and, for
/// searches, the key's quota. No handler decides any of this. From any thread; never blocks but in
/// admit_search(), which may ask a counter that processes share.
class Gate {
 public:
  explicit Gate(const GateOptions& options);
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Fills in what the exchange says of its client (client, is_https, traceparent, key, form) and checks it.
  ///
  /// in:     rules - nullptr for a path that does not exist
  /// errors: 400 a damaged form; 401 a key that is not known, or none where one is needed; 403 a key
  ///         without the role, another site's page; 415; 421 a Host that is not ours; 429 too many requests
  ///         or wrong keys
  std::optional<AccessRefusal> check(const RouteRules* rules, Exchange& exchange);

  /// Charges expanded queries that are about to be sent to the key's quota.
  ///
  /// in:     has_raw - some are sent without the engine's syntax filter
  /// errors: 403 raw queries without the role; 429 a quota that does not hold them, and nothing is charged
  std::optional<AccessRefusal> admit_search(const Exchange& exchange, std::size_t expanded_queries,
                                            bool has_raw = false);
  /// The same for what was answered before, without asking anybody: false when the quota does not surely
  /// hold it.
  bool admit_at_once(const Exchange& exchange, std::size_t expanded_queries);
  /// Charges a request that asks for several things at once, for those beyond the first.
  ///
  /// errors: 429 when the client's rate does not hold them, and nothing is charged
  std::optional<AccessRefusal> admit_more(const Exchange& exchange, std::size_t more);

  void set_limits(const ServerConfig& config);

 private:
  std::optional<AccessRefusal> find_key(const RouteRules& rules, Exchange& exchange);
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
  std::map<std::string, std::unique_ptr<RateLimiter>> key_limiters_;  ///< as many as keys with a rate
};

}  // namespace metafuse::service
