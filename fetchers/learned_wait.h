#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "core/deadline.h"

namespace metafuse::fetchers {

struct LearnedWaitOptions {
  bool is_on = true;
  Duration floor = std::chrono::milliseconds(150);
  Duration ceiling = std::chrono::seconds(10);

  friend bool operator==(const LearnedWaitOptions&, const LearnedWaitOptions&) = default;
};

/// How long waiting for an engine pays: the 95th percentile of its recent answers and half as much again, not
/// less than a floor and not more than a ceiling. A value; the caller locks.
class LearnedWait {
 public:
  void add(Duration latency);
  /// Nothing until 16 answers are known.
  std::optional<Duration> limit(const LearnedWaitOptions& options = {}) const;

 private:
  static constexpr std::size_t kWindow = 64;
  static constexpr std::size_t kFewest = 16;

  std::array<Duration, kWindow> latencies_{};
  std::size_t count_ = 0;
};

}  // namespace metafuse::fetchers
