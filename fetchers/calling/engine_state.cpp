#include "fetchers/calling/engine_state.h"

#include <algorithm>
#include <utility>

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxLateLists = 256;
constexpr auto kLateListAge = std::chrono::seconds(60);
constexpr double kRetriesPerRequest = 0.2;
constexpr double kMaxRetryTokens = 10;
constexpr std::size_t kMostLateWork = 16;

}  // namespace

void LateLists::put(std::string key, RankedList list, TimePoint now) {
  const std::lock_guard lock(mutex_);
  while (entries_.size() >= kMaxLateLists ||
         (entries_.size() > 0 && now - entries_.oldest().at > kLateListAge))
    entries_.remove_oldest();
  entries_.put(std::move(key), {std::move(list), now});
  count_ = entries_.size();
}

std::optional<RankedList> LateLists::find(const std::string& key, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const Entry* found = entries_.peek(key);
  if (found == nullptr || now - found->at > kLateListAge) return std::nullopt;
  return found->list;
}

bool EngineState::take_place() {
  const std::lock_guard lock(mutex);
  if (in_use >= engine.max_connections) return false;
  ++in_use;
  return true;
}

void EngineState::give_place() {
  const std::lock_guard lock(mutex);
  --in_use;
}

EngineState* FetcherState::find(std::string_view name) const {
  for (const auto& state : engines)
    if (state->engine.name == name) return state.get();
  return nullptr;
}

bool FetcherState::take_retry() {
  const std::lock_guard lock(retry_mutex);
  if (retry_tokens < 1) return false;
  retry_tokens -= 1;
  return true;
}

void FetcherState::earn_retry() {
  const std::lock_guard lock(retry_mutex);
  retry_tokens = std::min(kMaxRetryTokens, retry_tokens + kRetriesPerRequest);
}

bool FetcherState::run_late(std::function<void()> work) {
  if (!options.run_late) return late_work.run(std::move(work));
  options.run_late(std::move(work));
  return true;
}

bool FetcherState::is_behind() const {
  return late_work.waiting() > kMostLateWork;
}

}  // namespace metafuse::fetchers
