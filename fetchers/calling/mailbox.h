#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "core/deadline.h"

namespace metafuse::fetchers {

/// A queue of events for a waiting caller. After the caller has left, an event runs on the thread that
/// posts it.
class Mailbox {
 public:
  void post(std::function<void()> event) {
    {
      std::unique_lock lock(mutex_);
      if (!has_left_) {
        // The consumer drains the queue, so only the first producer wakes it.
        const bool is_first = events_.empty();
        events_.push_back(std::move(event));
        lock.unlock();
        if (is_first) arrived_.notify_one();
        return;
      }
    }
    event();
  }

  bool has_news() {
    const std::lock_guard lock(mutex_);
    return !events_.empty();
  }

  /// Waits until an event is there, but not longer than `until`.
  void wait(TimePoint until) {
    std::unique_lock lock(mutex_);
    if (events_.empty()) arrived_.wait_until(lock, until, [&] { return !events_.empty(); });
  }

  /// Runs the events that have arrived. A caller that leaves calls it for the last time.
  void run(bool is_leaving = false) {
    std::deque<std::function<void()>> events;
    {
      const std::lock_guard lock(mutex_);
      has_left_ = is_leaving;
      events.swap(events_);
    }
    for (const auto& event : events) event();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> events_;
  bool has_left_ = false;
};

}  // namespace metafuse::fetchers
