#include "service/keys.h"

#include <algorithm>

#include "service/digest.h"

namespace metafuse::service {
namespace {

constexpr std::uint64_t kBlocks = 64;

}  // namespace

const KeyConfig* find_key(std::span<const KeyConfig> keys, std::string_view presented) {
  const std::string digest = sha256_hex(presented);
  const KeyConfig* found = nullptr;
  for (const KeyConfig& key : keys)
    if (equal_in_constant_time(key.sha256, digest)) found = &key;
  return found;
}

Quotas::Quotas(SharedUsage shared) : shared_(std::move(shared)) {}

QuotaAnswer Quotas::charge(const KeyConfig& key, std::uint64_t amount, UnixTime now) {
  const std::uint64_t quota = key.quota_per_day;
  if (quota == 0) return {};
  const std::int64_t day = day_of(now);
  const QuotaAnswer refusal{false, 0, static_cast<double>((day + 1) * 86400 - now)};
  std::uint64_t wanted = 0;
  {
    const std::lock_guard lock(mutex_);
    Use& use = use_[key.name];
    if (use.day != day) use = {day, 0, 0};
    if (use.block >= amount) {
      use.block -= amount;
      return {true, quota - use.used + use.block, 0};
    }
    wanted = amount - use.block;
    if (use.used >= quota || wanted > quota - use.used) return refusal;
    if (!shared_) {
      use.used += wanted;
      use.block = 0;
      return {true, quota - use.used, 0};
    }
    wanted = std::max(wanted, std::min(quota / kBlocks, quota - use.used));
  }
  const std::optional<std::uint64_t> sum = shared_(key.name, day, wanted);
  const std::lock_guard lock(mutex_);
  Use& use = use_[key.name];
  if (use.day != day) return refusal;  // midnight passed meanwhile; the next try is on the new day's account
  use.used = std::max(use.used, sum.value_or(use.used + wanted));
  const std::uint64_t beyond = use.used > quota ? std::min(wanted, use.used - quota) : 0;
  use.used = std::min(use.used, quota);
  use.block += wanted - beyond;
  if (use.block < amount) return refusal;
  use.block -= amount;
  return {true, quota - use.used + use.block, 0};
}

}  // namespace metafuse::service
