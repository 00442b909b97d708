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

/// How much work may wait for a thread.
struct QueueLimits {
  std::size_t max_queue = 16;
  /// What waited this long is given up, what would wait three quarters of it is not taken; 0 for no end.
  std::chrono::nanoseconds max_wait{0};
  /// While the cores are busy, no more than this many have one or wait for one (see ConcurrencyLimit); 0 for
  /// no such bound.
  std::size_t max_running_when_busy = 0;
  /// While the cores are busy, no more than this many run of owners that make a crowd (see FairLine), all
  /// together and beside what runs of others; 0 for as many as of those.
  std::size_t max_running_in_crowd = 0;
};

/// Threads that do what may block, behind a queue that is bounded in length and in time. A thread is started
/// when work finds none idle, so that a pool for many slow engines costs little while it is not needed.
///
/// Admission is per owner: who has work here already is judged by how its own work fared, whoever comes with
/// the first piece by how others' first pieces did. So one owner's crowd has only its own work wait or be
/// refused, and a crowd of owners is refused as fast as one owner's.
class WorkerPool {
 public:
  /// in: max_threads - that one owner's work may have; a quarter more are for others beside it;
  /// clock - by which work is late; must outlive the pool
  WorkerPool(unsigned max_threads, const QueueLimits& limits, const Clock& clock);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  /// Hands work over; false when it would wait too long (see AdmissionControl). Neither function may throw.
  ///
  /// in: give_up - called instead of `work` when no thread came to it in time; owner - whose work it is
  bool try_run(std::function<void()> work, std::function<void()> give_up, const std::string& owner = {});
  void set_limits(const QueueLimits& limits);
  /// Finishes what is queued and joins the threads.
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
  const unsigned most_threads_;  ///< in all
  const Clock& clock_;
  mutable std::mutex mutex_;
  QueueLimits limits_;
  std::condition_variable ready_;
  std::condition_variable may_be_late_;
  FairLine queue_;
  bool is_stopping_ = false;
  bool is_watched_ = false;  ///< the queue, by the thread that gives up
  ConcurrencyLimit concurrency_limit_;
  AdmissionControl newcomers_;  ///< judges owners that have nothing here
  UsualWork usual_;
  UsualWork crowds_;  ///< of owners that make a crowd
  std::atomic<std::size_t> running_{0};
  std::vector<std::thread> threads_;
  std::thread giver_up_;
};

/// How many threads may fetch and score: the configuration's, else 32 a core, since most of them wait.
unsigned worker_count(const ServerConfig& config);

/// How much work may wait and run at once on this machine's cores.
QueueLimits queue_limits(const LimitsConfig& limits);

}  // namespace metafuse::service
