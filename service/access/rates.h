#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/deadline.h"
#include "core/recently_used.h"
#include "service/access/quotas.h"
#include "service/store/redis_client.h"

namespace metafuse::service {

/// Whether a request may proceed; if not, when to try again.
struct Admission {
  bool is_admitted = true;
  double retry_after_seconds = 0;
};

/// A token bucket per client: `burst` requests at once, then `per_second`. At most `max_clients` buckets are
/// kept. The least recently used one is dropped first; if it had filled up again, nothing is lost.
class RateLimiter {
 public:
  /// in: per_second - 0 for no limit; burst - at least 1
  RateLimiter(double per_second, double burst, std::size_t max_clients = 65536);

  /// in: client - an address_prefix(); tokens - what the request costs; more than `burst` counts as `burst`
  Admission take(std::string_view client, TimePoint now, double tokens = 1);
  /// Returns what take() took.
  void give_back(std::string_view client, TimePoint now, double tokens);
  /// Whether the client has one token, without taking it.
  Admission look(std::string_view client, TimePoint now);
  std::size_t size() const;
  /// Sets the rate from now on. A smaller burst also cuts the tokens that buckets hold.
  void set_rate(double per_second, double burst);
  double per_second() const;
  double burst() const;

  /// Tokens that a client took since the last call.
  struct Use {
    std::string client;
    double tokens = 0;
  };
  std::vector<Use> take_uses();
  /// Limits a client's bucket to what the bucket shared by several processes still holds.
  ///
  /// in: tokens - of the shared bucket, after this process's uses up to the last take_uses()
  void bound(std::string_view client, double tokens);

 private:
  struct Bucket {
    double tokens = 0;
    TimePoint at;
    double used = 0;  ///< since the last take_uses()
  };

  /// The client's bucket, refilled up to now. Requires the mutex.
  Bucket& bucket_of(std::string_view client, TimePoint now);

  std::size_t max_clients_;
  mutable std::mutex mutex_;
  double per_second_;
  double burst_;
  RecentlyUsed<Bucket> buckets_;  ///< by client
};

/// Quotas and rates that any number of processes share through Redis. For rates no request waits for Redis: a
/// thread of its own reports and bounds the buckets every tenth of a second. N processes together therefore
/// admit at most N bursts within the first tenth, and the configured rate from then on. While Redis is
/// unreachable, each process counts for itself.
class SharedLimits {
 public:
  SharedLimits(RedisAddress address, const Clock& clock, RateLimiter& limiter);
  SharedLimits(const SharedLimits&) = delete;
  SharedLimits& operator=(const SharedLimits&) = delete;
  ~SharedLimits();

  /// The shared counter for Quotas: a key's use on a day, kept for two days.
  SharedUsage usage();
  /// Reports the tokens that clients took, and limits their buckets to what the shared ones still hold.
  void exchange();

 private:
  void exchange_until_stopped();

  RedisClient redis_;
  RateLimiter& limiter_;
  std::mutex exchange_mutex_;  ///< one exchange at a time: when it ends, all earlier uses are reported
  std::mutex mutex_;
  std::condition_variable stops_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace metafuse::service
