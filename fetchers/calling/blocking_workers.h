#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace metafuse::fetchers {

/// Threads for engines whose calls block: databases and programs. A thread is started when work arrives and
/// none is idle. The destructor waits for running work and drops work that has not started.
class BlockingWorkers {
 public:
  BlockingWorkers() = default;
  ~BlockingWorkers();
  BlockingWorkers(const BlockingWorkers&) = delete;
  BlockingWorkers& operator=(const BlockingWorkers&) = delete;

  /// out:    false when the queue is so long that this work would not start in time; it is not queued then
  bool run(std::function<void()> work);

 private:
  void work_off();

  std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  std::size_t free_ = 0;
  bool is_ending_ = false;
};

}  // namespace metafuse::fetchers
