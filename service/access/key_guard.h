#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string_view>

#include "core/deadline.h"
#include "service/access/rate_limiter.h"
#include "service/base/expiring_cache.h"
#include "service/config/config.h"

namespace metafuse::service {

/// Compares presented keys, and slows down whoever guesses: an address prefix may fail so many times a
/// minute, all at once if it likes, and then gets no answer for any key that it has not shown here before. A
/// key that was right from that prefix in the last day goes on, so that guessing locks nobody out. Each
/// process counts alone.
class KeyGuard {
 public:
  /// in: failures_per_minute - 0 for no limit
  explicit KeyGuard(double failures_per_minute);

  /// What became of a presented key.
  struct Answer {
    const KeyConfig* key = nullptr;
    std::optional<double> retry_after_seconds;  ///< set when the prefix guessed too often
  };

  /// in: client - an address_prefix()
  Answer find(std::span<const KeyConfig> keys, std::string_view presented, std::string_view client,
              TimePoint now);
  void set_rate(double failures_per_minute);

 private:
  RateLimiter failures_;
  std::mutex mutex_;
  ExpiringCache<char> known_;  ///< prefixes with the digests that were right from there
};

}  // namespace metafuse::service
