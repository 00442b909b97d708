#include "service/access/keys.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "service/base/digest.h"

namespace metafuse::service {
namespace {

// How many of the first, smallest blocks make a quota, and how many of the largest ones.
constexpr std::uint64_t kFirstBlocks = 4096;
constexpr std::uint64_t kBlocks = 64;
constexpr std::int64_t kDaySeconds = 86400;

constexpr std::size_t kMostKnown = 65536;
constexpr std::size_t kMostKnownBytes = std::size_t{16} << 20;
constexpr std::chrono::hours kKnownFor{24};
constexpr double kSecondsAMinute = 60;

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

KeyGuard::KeyGuard(double failures_per_minute)
    : failures_(failures_per_minute / kSecondsAMinute, failures_per_minute),
      known_(kMostKnown, kMostKnownBytes),
      wrong_(kMostKnown, kMostKnownBytes) {}

KeyGuard::Answer KeyGuard::find(std::span<const KeyConfig> keys, std::string_view presented,
                                std::string_view client, TimePoint now) {
  const auto refusal = [](const Admission& admission) -> Answer {
    return {nullptr, admission.retry_after_seconds};
  };
  const KeyConfig* key = find_key(keys, presented);
  if (keys.empty() || failures_.per_second() <= 0) return {key, std::nullopt};
  if (key == nullptr) {
    const Admission admission = failures_.take(client, now);
    return admission.is_admitted ? Answer{} : refusal(admission);
  }
  std::string pair = std::string(client) + ' ' + key->sha256;
  const std::lock_guard lock(mutex_);
  if (known_.find(pair, now) == nullptr) {
    // right or wrong, a key that comes too early gets the same answer, so that it confirms no guess
    if (const Admission admission = failures_.look(client, now); !admission.is_admitted)
      return refusal(admission);
  }
  const std::size_t bytes = pair.size() + sizeof(ExpiringCache<char>::Entry);
  known_.keep(std::move(pair), 0, now + kKnownFor, bytes);
  return {key, std::nullopt};
}

const KeyConfig* KeyGuard::find_if_any(std::span<const KeyConfig> keys, std::string_view presented,
                                       std::string_view client, TimePoint now) {
  std::string pair = std::string(client) + ' ' + sha256_hex(presented);
  {
    const std::lock_guard lock(mutex_);
    // a reload may have made the key a right one
    if (wrong_.find(pair, now) != nullptr && find_key(keys, presented) == nullptr) return nullptr;
  }
  const Answer answer = find(keys, presented, client, now);
  if (answer.key == nullptr && !answer.retry_after_seconds) {
    const std::size_t bytes = pair.size() + sizeof(ExpiringCache<char>::Entry);
    const std::lock_guard lock(mutex_);
    wrong_.keep(std::move(pair), 0, now + kKnownFor, bytes);
  }
  return answer.key;
}

void KeyGuard::set_rate(double failures_per_minute) {
  failures_.set_rate(failures_per_minute / kSecondsAMinute, failures_per_minute);
}

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
  std::uint64_t wanted = 0;
  std::uint64_t untold = 0;
  {
    const std::lock_guard lock(mutex_);
    Use& use = use_[key.name];
    if (const auto answer = charge_locked(use, quota, amount, now)) return *answer;
    if (use.next == 0) use.next = std::max<std::uint64_t>(quota / kFirstBlocks, 1);
    wanted = std::max(amount - use.block, std::min(use.next, quota - use.used));
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
  use.block += wanted - beyond;
  if (use.block < amount) return refusal_until_tomorrow(now);
  use.block -= amount;
  return {true, quota - use.used + use.block, 0};
}

}  // namespace metafuse::service
