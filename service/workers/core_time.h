#pragma once

#include <chrono>

namespace metafuse::service {

/// What a thread got of the machine's cores.
struct CoreTime {
  std::chrono::nanoseconds ran{0};
  std::chrono::nanoseconds waited{0};  ///< ready to run, while others had the cores

  friend CoreTime operator-(const CoreTime& a, const CoreTime& b) {
    return {a.ran - b.ran, a.waited - b.waited};
  }
};

/// Reads the kernel's account of the thread that made it; zeros where the kernel keeps none.
class CoreTimeMeter {
 public:
  CoreTimeMeter();
  CoreTimeMeter(const CoreTimeMeter&) = delete;
  CoreTimeMeter& operator=(const CoreTimeMeter&) = delete;
  ~CoreTimeMeter();

  /// cost: one read of a few bytes, about a microsecond
  CoreTime read() const;

 private:
  int file_;
};

}  // namespace metafuse::service
