#pragma once

#include "core/deadline.h"

namespace metafuse::test {

/// A clock that a test moves by hand.
class ManualClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  void advance(Duration by) { now_ += by; }

 private:
  TimePoint now_{std::chrono::seconds(1000)};
};

}  // namespace metafuse::test
