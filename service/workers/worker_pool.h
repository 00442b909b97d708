#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/deadline.h"
#include "service/config/config.h"
#include "service/workers/fair_line.h"
#include "service/workers/load_control.h"

namespace metafuse::service {

/// How much work may wait and run.
struct QueueLimits {
  std::size_t max_queue = 16;
  /// Work that has waited this long is given up; work expected to wait more than three quarters of it is
  /// refused. 0 for no limit.
  std::chrono::nanoseconds max_wait{0};
  /// While the cores are busy, at most this many pieces of work have a core or wait for one (see
  /// ConcurrencyLimit); 0 for no limit.
  std::size_t max_running_when_busy = 0;
  /// While the cores are busy, at most this many pieces of all crowds together run (see FairLine), beside the
  /// work of other owners; 0: as many as max_running_when_busy.
  std::size_t max_running_in_crowd = 0;
};

/// Threads for work that may block, behind a queue that is bounded in length and in time. A thread is started
/// only when work finds none idle, so that a pool for many slow engines costs little while it is not needed.
///
/// Admission is per owner. An owner that already has work here is judged by its own earlier work, a newcomer
/// by other newcomers. So one owner's crowd makes only its own work wait or be refused, and a crowd of many
/// owners is refused as fast as the crowd of one.
class WorkerPool {
 public:
  /// in: max_threads - threads for one owner's work; a quarter more are for other owners;
  /// clock - measures how long work waits; must outlive the pool
  WorkerPool(unsigned max_threads, const QueueLimits& limits, const Clock& clock);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  /// Queues work; false if it would wait too long (see AdmissionControl). Neither function may throw.
  ///
  /// in: give_up - called instead of `work` if no thread started it in time; owner - whose work it is
  bool try_run(std::function<void()> work, std::function<void()> give_up, const std::string& owner = {});
  void set_limits(const QueueLimits& limits);
  /// Finishes the queued work and joins the threads.
  void stop();

  std::size_t queued() const;
  std::size_t running() const { return running_; }
  unsigned max_threads() const { return max_threads_; }

 private:
  void work();
  void add_thread();
  void give_up_late();
  Room room(TimePoint now);
  bool admits(const std::string& owner, TimePoint now);
  std::chrono::nanoseconds longest_wait() const;
  bool are_threads_missing(TimePoint now);
  TimePoint end_of_wait(TimePoint since) const;

  const unsigned max_threads_;   ///< for one owner's work
  const unsigned most_threads_;  ///< for all work
  const Clock& clock_;
  mutable std::mutex mutex_;
  QueueLimits limits_;
  std::condition_variable ready_;
  std::condition_variable may_be_late_;
  FairLine queue_;
  bool is_stopping_ = false;
  bool is_watched_ = false;  ///< giver_up_ watches the queue
  ConcurrencyLimit concurrency_limit_;
  AdmissionControl newcomers_;  ///< judges owners without items here
  UsualWork usual_;
  UsualWork crowds_;  ///< of owners that are a crowd
  std::atomic<std::size_t> running_{0};
  std::vector<std::thread> threads_;
  std::thread giver_up_;
};

/// The number of threads that fetch and score: the configuration's, or else 32 per core, since most of
/// them wait.
unsigned worker_count(const ServerConfig& config);

/// The limits of waiting and running work for this machine's cores.
QueueLimits queue_limits(const LimitsConfig& limits);

}  // namespace metafuse::service
