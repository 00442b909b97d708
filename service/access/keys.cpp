#include "service/access/keys.h"

#include <algorithm>

#include "service/base/digest.h"

namespace metafuse::service {
namespace {

constexpr std::uint64_t kBlocks = 64;
constexpr std::int64_t kDaySeconds = 86400;

QuotaAnswer refusal_until_tomorrow(UnixTime now) {
  return {false, 0, static_cast<double>((day_of(now) + 1) * kDaySeconds - now)};
}

}  // namespace

const KeyConfig* find_key(std::span<const KeyConfig> keys, std::string_view presented) {
  const std::string digest = sha256_hex(presented);
  const KeyConfig* found = nullptr;
  for (const KeyConfig& key : keys)
    if (equal_in_constant_time(key.sha256, digest)) found = &key;
  return found;
}

Quotas::Quotas(SharedUsage shared) : shared_(std::move(shared)) {}

std::optional<QuotaAnswer> Quotas::charge_locked(Use& use, std::uint64_t quota, std::uint64_t amount,
                                                 UnixTime now) {
  const std::int64_t day = day_of(now);
  if (use.day != day) use = {day, 0, 0};
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
  std::uint64_t wanted = 0;
  {
    const std::lock_guard lock(mutex_);
    Use& use = use_[key.name];
    if (const auto answer = charge_locked(use, quota, amount, now)) return *answer;
    wanted = std::max(amount - use.block, std::min(quota / kBlocks, quota - use.used));
  }
  const std::optional<std::uint64_t> sum = shared_(key.name, day, wanted);
  const std::lock_guard lock(mutex_);
  Use& use = use_[key.name];
  if (use.day != day) return refusal_until_tomorrow(now);  // midnight passed: the next try is on the new day
  use.used = std::max(use.used, sum.value_or(use.used + wanted));
  const std::uint64_t beyond = use.used > quota ? std::min(wanted, use.used - quota) : 0;
  use.used = std::min(use.used, quota);
  use.block += wanted - beyond;
  if (use.block < amount) return refusal_until_tomorrow(now);
  use.block -= amount;
  return {true, quota - use.used + use.block, 0};
}

}  // namespace metafuse::service
