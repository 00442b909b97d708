#include "fetchers/learned_wait.h"

#include <algorithm>

namespace metafuse::fetchers {

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

}  // namespace metafuse::fetchers
