#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "core/deadline.h"

namespace metafuse::fetchers {

/// A queue of events for a waiting caller, which run one after the other and never inside post(). After the
/// caller has left, a thread that posts an event runs it, together with what is posted meanwhile.
class Mailbox {
 public:
  void post(std::function<void()> event) {
    std::unique_lock lock(mutex_);
    events_.push_back(std::move(event));
    if (has_left_) return drain(lock);
    // The consumer drains the queue, so only the first producer wakes it.
    const bool is_first = events_.size() == 1;
    lock.unlock();
    if (is_first) arrived_.notify_one();
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

  /// Runs the events that have arrived.
  void run() {
    std::unique_lock lock(mutex_);
    run_arrived(lock);
  }

  /// Runs the events that have arrived, for the last time on the caller's thread.
  void leave() {
    std::unique_lock lock(mutex_);
    has_left_ = true;
    drain(lock);
  }

 private:
  /// Requires the lock, and holds it again on return.
  void run_arrived(std::unique_lock<std::mutex>& lock) {
    std::deque<std::function<void()>> events;
    events.swap(events_);
    lock.unlock();
    for (const auto& event : events) event();
    events.clear();
    lock.lock();
  }

  void drain(std::unique_lock<std::mutex>& lock) {
    if (is_draining_) return;
    is_draining_ = true;
    while (!events_.empty()) run_arrived(lock);
    is_draining_ = false;
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> events_;
  bool has_left_ = false;
  bool is_draining_ = false;
};

}  // namespace metafuse::fetchers
