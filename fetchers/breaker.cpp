#include "fetchers/breaker.h"

#include <algorithm>

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
    // Requests that were under way when it opened say nothing new, unless the engine names a time.
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

}  // namespace metafuse::fetchers
