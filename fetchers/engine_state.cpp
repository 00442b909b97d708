#include "fetchers/engine_state.h"

#include <algorithm>

#include "fetchers/make_fetcher.h"

namespace metafuse::fetchers {

Breaker::Verdict Breaker::ask(TimePoint now) {
  if (is_closed()) return Verdict::go;
  if (is_probing_ || now < *open_until_) return Verdict::stay;
  is_probing_ = true;
  return Verdict::probe;
}

void Breaker::force() {
  if (!is_closed()) is_probing_ = true;
}

void Breaker::succeeded() {
  failures_in_a_row_ = 0;
  times_opened_ = 0;
  is_probing_ = false;
  open_until_.reset();
}

void Breaker::failed(TimePoint now, bool is_probe, std::optional<Duration> retry_after) {
  if (!is_closed()) {
    // Requests already under way when the breaker opened tell nothing new, unless the engine names a time.
    if (is_probe) {
      is_probing_ = false;
      open(now, retry_after);
    } else if (retry_after) {
      open_until_ = std::max(*open_until_, now + std::min(*retry_after, options_.longest_retry_after));
    }
    return;
  }
  if (++failures_in_a_row_ >= options_.failures_to_open || retry_after) open(now, retry_after);
}

void Breaker::open(TimePoint now, std::optional<Duration> retry_after) {
  Duration pause = options_.first_backoff;
  for (int i = 0; i < times_opened_ && pause < options_.longest_backoff; ++i) pause *= 2;
  pause = std::min(pause, options_.longest_backoff);
  if (retry_after) pause = std::max(pause, std::min(*retry_after, options_.longest_retry_after));
  ++times_opened_;
  open_until_ = now + pause;
}

void LearnedWait::add(Duration latency) {
  latencies_[count_++ % kWindow] = latency;
}

std::optional<Duration> LearnedWait::limit(const LearnedWaitOptions& options) const {
  if (count_ < kFewest) return std::nullopt;
  const std::size_t size = std::min(count_, kWindow);
  std::array<Duration, kWindow> sorted = latencies_;
  const auto at = static_cast<std::ptrdiff_t>((size * 95 + 99) / 100 - 1);
  std::nth_element(sorted.begin(), sorted.begin() + at, sorted.begin() + static_cast<std::ptrdiff_t>(size));
  const Duration wait = sorted[static_cast<std::size_t>(at)] * 3 / 2;
  return std::min(std::max(wait, options.floor), options.ceiling);
}

std::optional<Duration> LearnedWait::quickest() const {
  if (count_ < kFewest) return std::nullopt;
  return *std::min_element(latencies_.begin(),
                           latencies_.begin() + static_cast<std::ptrdiff_t>(std::min(count_, kWindow)));
}

namespace {

constexpr std::size_t kMaxLateLists = 256;
constexpr auto kLateListAge = std::chrono::seconds(60);
constexpr double kRetriesPerRequest = 0.2;
constexpr double kMaxRetryTokens = 10;

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
