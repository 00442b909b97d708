#include "service/store/shared_clock.h"

#include <chrono>

namespace metafuse::service {

std::int64_t machine_milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

SharedClock::SharedClock(Store& store, const Clock& clock)
    : store_(store), clock_(clock), shift_ms_(machine_milliseconds() - steady_ms()) {}

std::int64_t SharedClock::steady_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now().time_since_epoch()).count();
}

Result<void> SharedClock::adjust() {
  const std::int64_t asked = steady_ms();
  TRY(const std::int64_t there, store_.milliseconds_now());
  const std::int64_t answered = steady_ms();
  // assumes that the database read its clock halfway between question and answer
  shift_ms_ = there - (asked + (answered - asked) / 2);
  machine_ahead_ms_ = machine_milliseconds() - (answered + shift_ms_);
  return {};
}

UnixTime SharedClock::now() const {
  return (steady_ms() + shift_ms_) / 1000;
}

}  // namespace metafuse::service
