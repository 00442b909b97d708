#pragma once

#include <cstddef>
#include <mutex>
#include <utility>

#include "core/progress.h"

namespace metafuse::experiments {

/// Counts pieces of work that several threads finish, and reports each.
class ProgressCounter {
 public:
  ProgressCounter(ProgressReport report, std::size_t total) : report_(std::move(report)), total_(total) {}

  /// One more piece is done.
  void add() {
    const std::lock_guard lock(mutex_);
    ++done_;
    if (report_) report_(done_, total_);
  }

 private:
  ProgressReport report_;
  std::size_t total_;
  std::size_t done_ = 0;
  std::mutex mutex_;
};

}  // namespace metafuse::experiments
