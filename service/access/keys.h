#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/deadline.h"
#include "service/access/rates.h"
#include "service/base/expiring_cache.h"
#include "service/config/config.h"
#include "service/store/stored_search.h"

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

/// The outcome of a charge against a quota.
struct QuotaAnswer {
  bool is_within = true;
  std::uint64_t left = 0;          ///< of today's quota, after this charge
  double retry_after_seconds = 0;  ///< until tomorrow (UTC), when the charge was refused
};

/// Counts the expanded queries that each key used today (UTC). From a shared counter it takes whole blocks of
/// the quota, so that the counter is asked seldom: the first block is 1/4096 of the quota, each next one is
/// twice as large, up to 1/64. The rest of a block is lost when the process ends; because blocks double, that
/// is at most what the process used plus 1/4096 of the quota. What a process counted alone while the shared
/// counter was unreachable is added to it afterwards.
class Quotas {
 public:
  /// in: shared - Redis or the store; may be empty. While it does not answer, this process counts alone.
  explicit Quotas(SharedUsage shared = {});

  /// Charges a request before it runs. A request that exceeds the quota is not charged.
  ///
  /// in: amount - its expanded queries
  QuotaAnswer charge(const KeyConfig& key, std::uint64_t amount, UnixTime now);
  /// As charge(), without asking the shared counter. Where it would have to be asked, returns nothing and
  /// charges nothing.
  std::optional<QuotaAnswer> charge_at_once(const KeyConfig& key, std::uint64_t amount, UnixTime now);

 private:
  struct Use {
    std::int64_t day = 0;
    std::uint64_t used = 0;    ///< by all processes, as far as is known here
    std::uint64_t block = 0;   ///< taken from the shared counter and not yet used
    std::uint64_t untold = 0;  ///< taken while the shared counter was unreachable
    std::uint64_t next = 0;    ///< size of the next block; 0 before the day's first
  };
  std::optional<QuotaAnswer> charge_locked(Use& use, std::uint64_t quota, std::uint64_t amount, UnixTime now);

  SharedUsage shared_;
  std::mutex mutex_;
  std::map<std::string, Use, std::less<>> use_;  ///< by key, as many as the configuration has
};

}  // namespace metafuse::service
