#include "service/access/key_guard.h"

#include <algorithm>
#include <string>

#include "service/access/keys.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMostKnown = 65536;
constexpr std::size_t kMostKnownBytes = std::size_t{16} << 20;
constexpr std::chrono::hours kKnownFor{24};
constexpr double kSecondsAMinute = 60;

}  // namespace

KeyGuard::KeyGuard(double failures_per_minute)
    : failures_(failures_per_minute / kSecondsAMinute, failures_per_minute),
      known_(kMostKnown, kMostKnownBytes) {}

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
    // right or wrong, a guess that comes too early hears the same
    if (const Admission admission = failures_.look(client, now); !admission.is_admitted)
      return refusal(admission);
  }
  const std::size_t bytes = pair.size() + sizeof(ExpiringCache<char>::Entry);
  known_.keep(std::move(pair), 0, now + kKnownFor, bytes);
  return {key, std::nullopt};
}

void KeyGuard::set_rate(double failures_per_minute) {
  failures_.set_rate(failures_per_minute / kSecondsAMinute, failures_per_minute);
}

}  // namespace metafuse::service
