#pragma once

#include <chrono>

namespace metafuse {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

/// The source of time: machine_clock() in production, a clock moved by hand in tests.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

/// The machine's clock: one for the whole program, because late work may ask it after its caller has ended.
/// It is never destroyed, because what ends at the program's exit may ask it, too.
inline const Clock& machine_clock() {
  class MachineClock final : public Clock {
   public:
    TimePoint now() const override { return std::chrono::steady_clock::now(); }
  };
  static const MachineClock* const clock = new MachineClock;
  return *clock;
}

/// The moment by which work must end.
class Deadline {
 public:
  Deadline(const Clock& clock, Duration from_now) : clock_(&clock), at_(clock.now() + from_now) {}

  TimePoint at() const { return at_; }
  /// The earlier of this deadline and the moment `from_now`.
  Deadline within(Duration from_now) const {
    const Deadline other(*clock_, from_now);
    return other.at_ < at_ ? other : *this;
  }
  bool has_passed() const { return clock_->now() >= at_; }
  /// Time left, never negative.
  Duration left() const {
    const Duration rest = at_ - clock_->now();
    return rest > Duration::zero() ? rest : Duration::zero();
  }

 private:
  const Clock* clock_;
  TimePoint at_;
};

}  // namespace metafuse
