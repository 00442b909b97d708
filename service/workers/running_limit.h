#pragma once

#include <chrono>
#include <cstddef>

namespace metafuse::service {

/// How many pieces of work may run at once: as few as keep the cores busy. More would make all of it late and
/// none of it sooner. Work that waits for engines leaves the cores idle, and then may take every thread.
class RunningLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// in: cores - of the machine; most - threads there are
  RunningLimit(unsigned cores, std::size_t most) : cores_(cores), most_(most), now_(most) {}

  /// The limit at this moment. Halved for each look that finds the cores busy, half as much again for each
  /// that does not.
  ///
  /// in: cpu - processor time that this process has used so far; least - the limit never falls below this
  std::size_t at(Time now, std::chrono::nanoseconds cpu, std::size_t least);
  /// Whether `at` would only repeat itself.
  bool is_fresh(Time now) const { return now - looked_at_ < kBetweenLooks; }
  std::size_t last() const { return now_; }

  static constexpr std::chrono::milliseconds kBetweenLooks{20};

 private:
  const unsigned cores_;
  const std::size_t most_;
  std::size_t now_;
  Time looked_at_{};
  std::chrono::nanoseconds cpu_at_look_{0};
};

}  // namespace metafuse::service
