#include "service/access/keys.h"

#include <chrono>
#include <utility>

#include "core/digest.h"
#include "service/base/dates.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMostKnown = 65536;
constexpr std::size_t kMostKnownBytes = std::size_t{16} << 20;
constexpr std::chrono::hours kKnownFor{24};

}  // namespace

const KeyConfig* find_key(std::span<const KeyConfig> keys, std::string_view presented) {
  const std::string digest = sha256_hex(presented);
  const KeyConfig* found = nullptr;
  for (const KeyConfig& key : keys)
    if (equal_in_constant_time(key.sha256, digest)) found = &key;
  return found;
}

KeyGuard::KeyGuard(double failures_per_minute)
    : failures_(failures_per_minute / static_cast<double>(kSecondsPerMinute), failures_per_minute),
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
  failures_.set_rate(failures_per_minute / static_cast<double>(kSecondsPerMinute), failures_per_minute);
}

}  // namespace metafuse::service
