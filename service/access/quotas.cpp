#include "service/access/quotas.h"

#include <algorithm>
#include <utility>

#include "service/base/dates.h"

namespace metafuse::service {
namespace {

// How many of the first, smallest blocks make a quota, and how many of the largest ones.
constexpr std::uint64_t kFirstBlocks = 4096;
constexpr std::uint64_t kBlocks = 64;

QuotaAnswer refusal_until_tomorrow(UnixTime now) {
  return {false, 0, static_cast<double>((day_of(now) + 1) * kSecondsPerDay - now)};
}

}  // namespace

Quotas::Quotas(SharedUsage shared) : shared_(std::move(shared)) {}

std::optional<QuotaAnswer> Quotas::charge_locked(Use& use, std::uint64_t quota, std::uint64_t amount,
                                                 UnixTime now) {
  const std::int64_t day = day_of(now);
  if (use.day != day) use = {day};
  if (use.block >= amount) {
    use.block -= amount;
    return QuotaAnswer{true, quota - use.used + use.block, 0};
  }
  const std::uint64_t wanted = amount - use.block;
  if (use.used >= quota || wanted > quota - use.used) return refusal_until_tomorrow(now);
  if (shared_) return std::nullopt;
  use.used += wanted;
  use.block = 0;
  return QuotaAnswer{true, quota - use.used, 0};
}

std::optional<QuotaAnswer> Quotas::charge_at_once(const KeyConfig& key, std::uint64_t amount, UnixTime now) {
  if (key.quota_per_day == 0) return QuotaAnswer{};
  const std::lock_guard lock(mutex_);
  return charge_locked(use_[key.name], key.quota_per_day, amount, now);
}

QuotaAnswer Quotas::charge(const KeyConfig& key, std::uint64_t amount, UnixTime now) {
  const std::uint64_t quota = key.quota_per_day;
  if (quota == 0) return {};
  const std::int64_t day = day_of(now);
  std::uint64_t own = 0;  // of the block, reserved so that no other request counts on it meanwhile
  std::uint64_t wanted = 0;
  std::uint64_t untold = 0;
  {
    const std::lock_guard lock(mutex_);
    Use& use = use_[key.name];
    if (const auto answer = charge_locked(use, quota, amount, now)) return *answer;
    if (use.next == 0) use.next = std::max<std::uint64_t>(quota / kFirstBlocks, 1);
    own = std::exchange(use.block, 0);
    wanted = std::max(amount - own, std::min(use.next, quota - use.used));
    use.next = std::min(2 * use.next, quota / kBlocks);
    untold = std::exchange(use.untold, 0);
  }
  const std::optional<std::uint64_t> sum = shared_(key.name, day, wanted + untold);
  const std::lock_guard lock(mutex_);
  Use& use = use_[key.name];
  // Midnight has passed: the next request is charged to the new day.
  if (use.day != day) return refusal_until_tomorrow(now);
  if (!sum) use.untold += wanted + untold;
  use.used = std::max(use.used, sum.value_or(use.used + wanted));
  const std::uint64_t beyond = use.used > quota ? std::min(wanted, use.used - quota) : 0;
  use.used = std::min(use.used, quota);
  use.block += own + wanted - beyond;
  if (use.block < amount) return refusal_until_tomorrow(now);
  use.block -= amount;
  return {true, quota - use.used + use.block, 0};
}

}  // namespace metafuse::service
