#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace metafuse::service {

/// Threads that do what may block, behind a queue of bounded length.
class WorkerPool {
 public:
  WorkerPool(unsigned threads, std::size_t max_queue);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  /// Hands work over; false when the queue is full. The work must not throw.
  bool try_run(std::function<void()> work);
  /// Finishes what is queued and joins the threads.
  void stop();

  std::size_t queued() const;
  std::size_t running() const { return running_; }
  unsigned thread_count() const { return static_cast<unsigned>(threads_.size()); }

 private:
  void work();

  const std::size_t max_queue_;
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> queue_;
  bool is_stopping_ = false;
  std::atomic<std::size_t> running_{0};
  std::vector<std::thread> threads_;
};

}  // namespace metafuse::service
