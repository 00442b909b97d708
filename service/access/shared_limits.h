#pragma once

#include <condition_variable>
#include <mutex>
#include <string_view>
#include <thread>

#include "core/deadline.h"
#include "service/access/keys.h"
#include "service/access/rate_limiter.h"
#include "service/store/redis_client.h"

namespace metafuse::service {

/// Quotas and rates that any number of processes share through Redis. No request waits for it: buckets are
/// reported and bounded every tenth of a second on a thread of its own, so that N processes together let at
/// most N bursts through within the first tenth, and the configured rate from then on. While Redis is away
/// each process counts alone.
class SharedLimits {
 public:
  SharedLimits(RedisAddress address, const Clock& clock, RateLimiter& limiter);
  SharedLimits(const SharedLimits&) = delete;
  SharedLimits& operator=(const SharedLimits&) = delete;
  ~SharedLimits();

  /// The counter of Quotas: a key's use of a day, kept for two.
  SharedUsage usage();
  /// Reports what clients took, and bounds their buckets by what is left of the shared ones.
  void exchange();

 private:
  void exchange_until_stopped();

  RedisClient redis_;
  RateLimiter& limiter_;
  std::mutex exchange_mutex_;  ///< one exchange at a time, so that its end means that all before it is told
  std::mutex mutex_;
  std::condition_variable stops_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace metafuse::service
