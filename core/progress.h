#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>

#include "core/result.h"

namespace metafuse {

/// Called with (done, total) by long-running work; an empty function means that no progress is reported.
using ProgressReport = std::function<void(std::size_t done, std::size_t total)>;

/// Reports work that several threads do together.
class SharedProgress {
 public:
  SharedProgress(ProgressReport report, std::size_t total) : report_(std::move(report)), total_(total) {}

  /// Never reports more than the total, and nothing if the total is 0 because it is unknown.
  void add(std::size_t done) {
    if (!report_ || total_ == 0) return;
    const std::lock_guard lock(mutex_);
    done_ = std::min(done_ + done, total_);
    report_(done_, total_);
  }

 private:
  ProgressReport report_;
  std::size_t total_;
  std::mutex mutex_;
  std::size_t done_ = 0;
};

/// True when long-running work should end early; an empty function means that nothing interrupts it.
using IsInterrupted = std::function<bool()>;

/// errors: try_again: interrupted
inline Result<void> check_interrupt(const IsInterrupted& is_interrupted) {
  if (is_interrupted && is_interrupted()) return fail(Code::try_again, "interrupted");
  return {};
}

}  // namespace metafuse
