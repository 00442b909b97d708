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
/// time says nothing about which key came near.
const KeyConfig* find_key(std::span<const KeyConfig> keys, std::string_view presented);

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
  /// The same where a wrong key counts as none. One that a client sends again and again is no new guess and
  /// counts as a failure once a day; a prefix that failed too often has none of its new keys found.
  ///
  /// out: nullptr for a wrong key, and for a right one that comes too early
  const KeyConfig* find_if_any(std::span<const KeyConfig> keys, std::string_view presented,
                               std::string_view client, TimePoint now);
  void set_rate(double failures_per_minute);

 private:
  RateLimiter failures_;
  std::mutex mutex_;
  ExpiringCache<char> known_;  ///< prefixes with the digests that were right from there
  ExpiringCache<char> wrong_;  ///< the same of those that were wrong where that did not matter
};

/// What a charge against a quota came to.
struct QuotaAnswer {
  bool is_within = true;
  std::uint64_t left = 0;          ///< of today, after this charge
  double retry_after_seconds = 0;  ///< until tomorrow (UTC) when it is not within
};

/// Counts the expanded queries that each key used today (UTC). Of a shared counter, blocks are taken at once,
/// so that it is asked seldom: the first of 1/4096 of the quota, each next one twice as large, up to 1/64.
/// What is left of a block when a process ends is lost, which is at most 1/4096 more than it used. What a
/// process counted alone while the counter was away is told to it afterwards.
class Quotas {
 public:
  /// in: shared - Redis or the store; may be empty. While it does not answer, this process counts alone.
  explicit Quotas(SharedUsage shared = {});

  /// Charges a request before it runs. A request that does not fit is not charged.
  ///
  /// in: amount - its expanded queries
  QuotaAnswer charge(const KeyConfig& key, std::uint64_t amount, UnixTime now);
  /// The same without asking the shared counter: nothing, and nothing charged, when it would have to be.
  std::optional<QuotaAnswer> charge_at_once(const KeyConfig& key, std::uint64_t amount, UnixTime now);

 private:
  struct Use {
    std::int64_t day = 0;
    std::uint64_t used = 0;    ///< of all processes, as far as we know
    std::uint64_t block = 0;   ///< taken and not yet used
    std::uint64_t untold = 0;  ///< taken while the shared counter was away
    std::uint64_t next = 0;    ///< how large a block is taken next; 0: the first of the day
  };
  std::optional<QuotaAnswer> charge_locked(Use& use, std::uint64_t quota, std::uint64_t amount, UnixTime now);

  SharedUsage shared_;
  std::mutex mutex_;
  std::map<std::string, Use, std::less<>> use_;  ///< as many as the configuration has keys
};

}  // namespace metafuse::service
