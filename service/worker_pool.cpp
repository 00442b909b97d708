#include "service/worker_pool.h"

#include <algorithm>
#include <ctime>
#include <system_error>
#include <utility>

namespace metafuse::service {

using SteadyTime = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};
constexpr int kGrace = 9;  ///< times the longest wait, for a free thread that the system has not yet run
constexpr double kBusyShare = 0.45;  ///< of all cores; what serves us, engines and clients, needs some too

std::chrono::nanoseconds cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

WorkerPool::WorkerPool(unsigned max_threads, const QueueLimits& limits)
    : max_threads_(max_threads), limits_(limits) {
  giver_up_ = std::thread([this] { give_up_late(); });
}

WorkerPool::~WorkerPool() {
  stop();
}

bool WorkerPool::try_run(std::function<void()> work, std::function<void()> give_up) {
  bool must_wait = false;
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_ || queue_.size() >= limits_.max_queue) return false;
    queue_.push_back({std::move(work), std::move(give_up), SteadyTime::now()});
    must_wait = queue_.size() + running_ > threads_.size() && !add_thread();
  }
  ready_.notify_one();
  if (must_wait) may_be_late_.notify_one();
  return true;
}

bool WorkerPool::add_thread() {
  if (threads_.size() >= max_threads_) return false;
  try {
    threads_.emplace_back(&WorkerPool::work, this);
  } catch (const std::system_error&) {
    return false;  // the system has no more threads: the ones that are there go on
  }
  return true;
}

void WorkerPool::set_limits(const QueueLimits& limits) {
  {
    const std::lock_guard lock(mutex_);
    limits_ = limits;
  }
  may_be_late_.notify_one();
}

void WorkerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  ready_.notify_all();
  may_be_late_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
  if (giver_up_.joinable()) giver_up_.join();
}

std::size_t WorkerPool::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void WorkerPool::work() {
  while (true) {
    Item next;
    {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, [this] { return is_stopping_ || (!queue_.empty() && running_ < allowed()); });
      if (queue_.empty()) return;
      const bool is_late = !is_stopping_ && is_front_late(SteadyTime::now());
      next = std::move(queue_.front());
      queue_.pop_front();
      if (is_late) next.work = std::move(next.give_up);
      ++running_;
    }
    next.work();
    --running_;
  }
}

/// How many items may run at once just now.
std::size_t WorkerPool::allowed() {
  if (limits_.max_running_when_busy == 0) return max_threads_;
  const auto now = SteadyTime::now();
  if (now - measured_at_ >= kBetweenLooks) {
    const auto cpu = cpu_time();
    const std::chrono::duration<double> used = cpu - measured_cpu_;
    const std::chrono::duration<double> passed = now - measured_at_;
    is_busy_ = used.count() > kBusyShare * passed.count() * std::max(1U, std::thread::hardware_concurrency());
    measured_at_ = now;
    measured_cpu_ = cpu;
  }
  return is_busy_ ? limits_.max_running_when_busy : max_threads_;
}

/// Whether the oldest item waited too long. While there are free threads that the system has not yet run, it
/// may wait a little more: that is no queue.
bool WorkerPool::is_front_late(SteadyTime::time_point now) {
  if (queue_.empty() || limits_.max_wait <= std::chrono::nanoseconds::zero()) return false;
  const bool has_free_threads = running_ + queue_.size() <= std::min(threads_.size(), allowed());
  return now >= queue_.front().since + (has_free_threads ? 1 + kGrace : 1) * limits_.max_wait;
}

/// The oldest item stands in front, so only its time is watched. While every item finds a thread at once,
/// this thread sleeps.
void WorkerPool::give_up_late() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    if (queue_.empty() || limits_.max_wait <= std::chrono::nanoseconds::zero()) {
      may_be_late_.wait(lock);
      continue;
    }
    const auto late_at = queue_.front().since + limits_.max_wait;
    if (SteadyTime::now() < late_at) {
      may_be_late_.wait_until(lock, late_at);
      continue;
    }
    if (!is_front_late(SteadyTime::now())) {
      ready_.notify_one();  // a free thread may have slept while the cores were busy
      may_be_late_.wait_for(lock, limits_.max_wait);
      continue;
    }
    const Item late = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    late.give_up();
    lock.lock();
  }
}

}  // namespace metafuse::service
