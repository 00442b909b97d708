#pragma once

#include <chrono>
#include <cstddef>

#include "service/workers/core_time.h"

namespace metafuse::service {

/// How many pieces of work may run at once: as few as keep the cores busy. More would make all of it late and
/// none of it sooner. Work that waits for engines leaves the cores idle, and then may take every thread.
///
/// The cores are busy when work waits for one, whoever it is that has them.
class RunningLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// in: most - threads there are
  explicit RunningLimit(std::size_t most) : most_(most), now_(most) {}

  /// Notes a piece of work that has ended.
  ///
  /// in: took - by the clock
  void note(const CoreTime& spent, std::chrono::nanoseconds took);
  /// The limit at this moment. Halved for each look that finds the cores busy, half as much again for each
  /// that does not.
  ///
  /// in: least - the limit never falls below this
  std::size_t at(Time now, std::size_t least);

  static constexpr std::chrono::milliseconds kBetweenLooks{20};

 private:
  bool is_busy() const;

  const std::size_t most_;
  std::size_t now_;
  Time looked_at_{};
  CoreTime spent_;  ///< since the last look, as `took_`
  std::chrono::nanoseconds took_{0};
};

}  // namespace metafuse::service
