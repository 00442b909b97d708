#include "fetchers/http/breaker.h"

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

}  // namespace metafuse::fetchers
