#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "service/http/session_io.h"

namespace metafuse::service {

/// One time limit after another on one timer. Moving it further away costs nothing: the timer is set again
/// only when it comes nearer or has gone off too early.
class SessionDeadline {
 public:
  SessionDeadline(const SessionExecutor& executor, std::function<void()> on_passed)
      : timer_(executor), on_passed_(std::move(on_passed)) {}

  static std::chrono::steady_clock::time_point after(double seconds) {
    const std::chrono::duration<double> from_now(seconds);
    return std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(from_now);
  }

  /// in: hold - keeps the owner alive until the timer goes off or is stopped
  void set(double seconds, const std::shared_ptr<void>& hold) {
    has_passed_ = false;
    at_ = after(seconds);
    if (!is_waiting_ || at_ < timer_.expiry()) wait(hold);
  }
  void clear() { at_ = kNever; }
  /// Whether the limit that was set last is over.
  bool has_passed() const { return has_passed_; }
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
      has_passed_ = true;
      on_passed_();
    });
  }

  SessionTimer timer_;
  std::function<void()> on_passed_;
  std::chrono::steady_clock::time_point at_ = kNever;
  bool is_waiting_ = false;
  bool has_passed_ = false;
};

}  // namespace metafuse::service
