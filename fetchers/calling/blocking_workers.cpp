#include "fetchers/calling/blocking_workers.h"

namespace metafuse::fetchers {

void BlockingWorkers::stop() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    dropped.swap(waiting_);
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

std::size_t BlockingWorkers::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

bool BlockingWorkers::run(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (is_ending_) return false;
    waiting_.push_back(std::move(work));
    if (waiting_.size() > free_ && threads_.size() < most_threads_)
      threads_.emplace_back([this] { work_off(); });
  }
  has_work_.notify_one();
  return true;
}

void BlockingWorkers::work_off() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++free_;
    has_work_.wait(lock, [&] { return is_ending_ || !waiting_.empty(); });
    --free_;
    if (is_ending_) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace metafuse::fetchers
