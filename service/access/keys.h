#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "service/config/config.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

/// The key that a client presented, or nullptr. All digests are compared, each in constant time, so that the
/// time says nothing about which key came near.
const KeyConfig* find_key(std::span<const KeyConfig> keys, std::string_view presented);

/// What a charge against a quota came to.
struct QuotaAnswer {
  bool is_within = true;
  std::uint64_t left = 0;          ///< of today, after this charge
  double retry_after_seconds = 0;  ///< until tomorrow (UTC) when it is not within
};

/// A counter that processes share, or that outlives one: adds to a key's use on a day and returns the sum.
/// Nothing when it cannot be reached.
using SharedUsage =
    std::function<std::optional<std::uint64_t>(std::string_view key, std::int64_t day, std::uint64_t amount)>;

/// Counts the expanded queries that each key used today (UTC). Of a shared counter, blocks of 1/64 of the
/// quota are taken at once, so that it is asked seldom; what is left of a block when a process ends is lost.
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
    std::uint64_t used = 0;   ///< of all processes, as far as we know
    std::uint64_t block = 0;  ///< taken and not yet used
  };
  std::optional<QuotaAnswer> charge_locked(Use& use, std::uint64_t quota, std::uint64_t amount, UnixTime now);

  SharedUsage shared_;
  std::mutex mutex_;
  std::map<std::string, Use, std::less<>> use_;  ///< as many as the configuration has keys
};

}  // namespace metafuse::service
