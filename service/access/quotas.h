#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "service/config/config.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

/// A counter that several processes share or that outlives one: adds to a key's use on a day and returns the
/// sum; nothing when it cannot be reached.
using SharedUsage =
    std::function<std::optional<std::uint64_t>(std::string_view key, std::int64_t day, std::uint64_t amount)>;

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
