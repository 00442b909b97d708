#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace metafuse::fetchers {

/// Threads for work that would hold up others: engines whose calls block, such as databases and programs, and
/// answers that nobody waits for. A thread is started when work arrives and none is idle.
class BlockingWorkers {
 public:
  explicit BlockingWorkers(std::size_t most_threads = 32) : most_threads_(most_threads) {}
  ~BlockingWorkers() { stop(); }
  BlockingWorkers(const BlockingWorkers&) = delete;
  BlockingWorkers& operator=(const BlockingWorkers&) = delete;

  /// out:    false after stop(); it is not queued then
  bool run(std::function<void()> work);
  /// How much work has not started.
  std::size_t waiting() const;
  /// Waits for running work, and drops work that has not started.
  void stop();

 private:
  void work_off();

  const std::size_t most_threads_;
  mutable std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  std::size_t free_ = 0;
  bool is_ending_ = false;
};

}  // namespace metafuse::fetchers
