#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "core/deadline.h"

namespace metafuse::fetchers {

/// A queue of events for a waiting caller, which run one after the other and never inside post(). After the
/// caller has left, they run wherever it arranged that.
class Mailbox {
 public:
  void post(std::function<void()> event) {
    std::unique_lock lock(mutex_);
    events_.push_back(std::move(event));
    if (has_left_) return arrange(lock);
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

  /// The caller leaves.
  ///
  /// in: later - arranges that run_late() is called once; if it returns false, the events are dropped
  void leave(std::function<bool()> later) {
    std::unique_lock lock(mutex_);
    has_left_ = true;
    later_ = std::move(later);
    if (!events_.empty()) arrange(lock);
  }

  /// Drops what was posted since the caller left, because nobody will run it. Events may hold the mailbox's
  /// owner, so they must not stay.
  void drop_late() {
    Events dropped;  // destroyed without the lock, because events hold others
    const std::lock_guard lock(mutex_);
    dropped.swap(events_);
    is_arranged_ = false;
  }

  /// Runs what was posted since the caller left, together with what is posted meanwhile.
  void run_late() {
    std::unique_lock lock(mutex_);
    while (!events_.empty()) run_arrived(lock);
    is_arranged_ = false;
  }

 private:
  using Events = std::deque<std::function<void()>>;

  /// Requires the lock, and holds it again on return.
  void run_arrived(std::unique_lock<std::mutex>& lock) {
    Events events;
    events.swap(events_);
    lock.unlock();
    for (const auto& event : events) event();
    events.clear();
    lock.lock();
  }

  /// Requires the lock, and releases it.
  void arrange(std::unique_lock<std::mutex>& lock) {
    if (is_arranged_) return;
    is_arranged_ = true;
    lock.unlock();
    if (later_()) return;
    Events dropped;  // destroyed without the lock, because events hold others
    lock.lock();
    dropped.swap(events_);
    is_arranged_ = false;
    lock.unlock();
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  Events events_;
  std::function<bool()> later_;
  bool has_left_ = false;
  bool is_arranged_ = false;  ///< run_late() will be called, or is running
};

}  // namespace metafuse::fetchers
