#include "service/worker_pool.h"

#include <utility>

namespace metafuse::service {

WorkerPool::WorkerPool(unsigned threads, std::size_t max_queue) : max_queue_(max_queue) {
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

WorkerPool::~WorkerPool() {
  stop();
}

bool WorkerPool::try_run(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_ || queue_.size() >= max_queue_) return false;
    queue_.push_back(std::move(work));
  }
  ready_.notify_one();
  return true;
}

void WorkerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  ready_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

std::size_t WorkerPool::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void WorkerPool::work() {
  while (true) {
    std::function<void()> next;
    {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    ++running_;
    next();
    --running_;
  }
}

}  // namespace metafuse::service
