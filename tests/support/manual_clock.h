#pragma once

#include <atomic>

#include "core/deadline.h"

namespace metafuse::test {

/// A clock that a test moves by hand, from any thread.
class ManualClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(now_.load()); }
  void advance(Duration by) { now_ = now_.load() + by; }

 private:
  std::atomic<Duration> now_{std::chrono::seconds(1000)};
};

}  // namespace metafuse::test
