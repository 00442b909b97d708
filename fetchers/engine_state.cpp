#include "fetchers/engine_state.h"

#include <algorithm>

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxLateLists = 256;
constexpr auto kLateListAge = std::chrono::seconds(60);
constexpr double kRetriesPerRequest = 0.2;
constexpr double kMaxRetryTokens = 10;

}  // namespace

void LateLists::put(std::string key, RankedList list, TimePoint now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const auto& entry) { return now - entry.second.at > kLateListAge; });
  if (entries_.size() >= kMaxLateLists) {
    const auto oldest = std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.second.at < b.second.at;
    });
    entries_.erase(oldest);
  }
  entries_.insert_or_assign(std::move(key), Entry{std::move(list), now});
  count_ = entries_.size();
}

std::optional<RankedList> LateLists::take(const std::string& key, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || now - found->second.at > kLateListAge) return std::nullopt;
  return found->second.list;
}

EngineState* SharedState::find(std::string_view name) const {
  for (const auto& state : engines)
    if (state->engine.name == name) return state.get();
  return nullptr;
}

bool SharedState::take_retry() {
  const std::lock_guard lock(retry_mutex);
  if (retry_tokens < 1) return false;
  retry_tokens -= 1;
  return true;
}

void SharedState::earn_retry() {
  const std::lock_guard lock(retry_mutex);
  retry_tokens = std::min(kMaxRetryTokens, retry_tokens + kRetriesPerRequest);
}

}  // namespace metafuse::fetchers
