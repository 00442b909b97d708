#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "core/deadline.h"

namespace metafuse::fetchers {

/// How long waiting for an engine pays: the 95th percentile of its recent answers and half as much again, not
/// less than a floor. A value; the caller locks.
class LearnedWait {
 public:
  explicit LearnedWait(Duration floor = std::chrono::milliseconds(150)) : floor_(floor) {}

  void add(Duration latency);
  /// Nothing until 16 answers are known.
  std::optional<Duration> limit() const;

 private:
  static constexpr std::size_t kWindow = 64;
  static constexpr std::size_t kFewest = 16;

  Duration floor_;
  std::array<Duration, kWindow> latencies_{};
  std::size_t count_ = 0;
};

}  // namespace metafuse::fetchers
