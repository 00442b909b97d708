#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string_view>

#include "core/deadline.h"
#include "service/access/rates.h"
#include "service/base/expiring_cache.h"
#include "service/config/config.h"

namespace metafuse::service {

/// The key that a client presented, or nullptr. All digests are compared, each in constant time, so that the
/// time does not reveal how close a guess was.
const KeyConfig* find_key(std::span<const KeyConfig> keys, std::string_view presented);

/// Compares presented keys and slows down clients that guess. An address prefix may fail a set number of
/// times per minute, all at once if it likes; after that, every key that it has not shown here before is
/// refused. A key that was right from that prefix within the last day continues to work, so that guessing
/// locks nobody out. Each process counts for itself.
class KeyGuard {
 public:
  /// in: failures_per_minute - 0 for no limit
  explicit KeyGuard(double failures_per_minute);

  /// The outcome for a presented key.
  struct Answer {
    const KeyConfig* key = nullptr;
    std::optional<double> retry_after_seconds;  ///< set when the prefix guessed too often
  };

  /// in: client - an address_prefix()
  Answer find(std::span<const KeyConfig> keys, std::string_view presented, std::string_view client,
              TimePoint now);
  /// As find(), for routes where a wrong key counts as no key. A wrong key that a client sends again and
  /// again is no new guess: it counts as one failure per day. While a prefix has failed too often, no new key
  /// from it is found.
  ///
  /// out: nullptr for a wrong key, and for a right one that came while its prefix is refused
  const KeyConfig* find_if_any(std::span<const KeyConfig> keys, std::string_view presented,
                               std::string_view client, TimePoint now);
  void set_rate(double failures_per_minute);

 private:
  RateLimiter failures_;
  std::mutex mutex_;
  ExpiringCache<char> known_;  ///< "PREFIX DIGEST" of keys that were right
  ExpiringCache<char> wrong_;  ///< the same of wrong keys that counted as none
};

}  // namespace metafuse::service
