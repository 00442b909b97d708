#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "service/session_io.h"

namespace metafuse::service {

/// One time limit after another on one timer. Moving it further away costs nothing: the timer is set again
/// only when it comes nearer or has gone off too early.
class SessionDeadline {
 public:
  SessionDeadline(const SessionExecutor& executor, std::function<void()> on_passed)
      : timer_(executor), on_passed_(std::move(on_passed)) {}

  /// in: hold - keeps the owner alive until the timer goes off or is stopped
  void set(std::chrono::nanoseconds from_now, const std::shared_ptr<void>& hold) {
    at_ = std::chrono::steady_clock::now() + from_now;
    if (!is_waiting_ || at_ < timer_.expiry()) wait(hold);
  }
  void clear() { at_ = kNever; }
  void stop() {
    clear();
    timer_.cancel();
  }

 private:
  static constexpr auto kNever = std::chrono::steady_clock::time_point::max();

  void wait(const std::shared_ptr<void>& hold) {
    is_waiting_ = true;
    timer_.expires_at(at_);
    timer_.async_wait([this, hold](boost::system::error_code error) {
      if (error) return;
      is_waiting_ = false;
      if (at_ == kNever) return;
      if (std::chrono::steady_clock::now() < at_) return wait(hold);
      at_ = kNever;
      on_passed_();
    });
  }

  SessionTimer timer_;
  std::function<void()> on_passed_;
  std::chrono::steady_clock::time_point at_ = kNever;
  bool is_waiting_ = false;
};

}  // namespace metafuse::service
