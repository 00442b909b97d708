#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace metafuse::fetchers {

/// Threads for engines that block: databases and programs. A thread is made when work comes and none is free;
/// the end waits for what runs, and drops what has not begun.
class BlockingWorkers {
 public:
  BlockingWorkers() = default;
  ~BlockingWorkers();
  BlockingWorkers(const BlockingWorkers&) = delete;
  BlockingWorkers& operator=(const BlockingWorkers&) = delete;

  /// out: false when so much work waits that this would not be begun in time
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
