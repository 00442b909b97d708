#include "service/keys.h"

#include "service/digest.h"

namespace metafuse::service {

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
  {
    const std::lock_guard lock(mutex_);
    Use& use = used_[key.name];
    if (use.day != day) use = {day, 0};
    if (amount > quota || use.amount > quota - amount) return refusal;
    use.amount += amount;
    if (!shared_) return {true, quota - use.amount, 0};
  }
  const std::optional<std::uint64_t> sum = shared_(key.name, day, amount);
  const std::lock_guard lock(mutex_);
  Use& use = used_[key.name];
  // Another process may have used more than we knew; its part is only ever added.
  if (sum && use.day == day && *sum > use.amount) use.amount = *sum;
  if (sum && *sum > quota) return refusal;
  return {true, use.amount < quota ? quota - use.amount : 0, 0};
}

}  // namespace metafuse::service
