#include "fetchers/calling/breaker.h"

#include <algorithm>

namespace metafuse::fetchers {
namespace {

constexpr int kFailuresToOpen = 5;
constexpr Duration kFirstBackoff = std::chrono::seconds(2);  ///< doubled with each failed probe
constexpr Duration kLongestBackoff = std::chrono::minutes(5);
constexpr Duration kLongestRetryAfter = std::chrono::hours(1);

}  // namespace

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
      open_until_ = std::max(*open_until_, now + std::min(*retry_after, kLongestRetryAfter));
    }
    return;
  }
  if (++failures_in_a_row_ >= kFailuresToOpen || retry_after) open(now, retry_after);
}

void Breaker::open(TimePoint now, std::optional<Duration> retry_after) {
  Duration pause = kFirstBackoff;
  for (int i = 0; i < times_opened_ && pause < kLongestBackoff; ++i) pause *= 2;
  pause = std::min(pause, kLongestBackoff);
  if (retry_after) pause = std::max(pause, std::min(*retry_after, kLongestRetryAfter));
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

}  // namespace metafuse::fetchers
