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
#include "service/http/load_control.h"

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

/// Which work may wait and which may run.
///
/// Admission is per owner. An owner that already has work here is judged by its own earlier work, a newcomer
/// by other newcomers. So one owner's crowd makes only its own work wait or be refused, and a crowd of many
/// owners is refused as fast as the crowd of one.
///
/// Not thread-safe: WorkerPool locks its mutex around every call.
class WorkSchedule {
 public:
  /// in: max_threads - threads for one owner's work; a quarter more are for other owners
  WorkSchedule(unsigned max_threads, const QueueLimits& limits);

  void set_limits(const QueueLimits& limits);
  /// From now on all items may run at once.
  void drain() { is_draining_ = true; }
  bool is_draining() const { return is_draining_; }

  /// Whether one more item of this owner is admitted, by the expected wait for its turn.
  bool admits(const std::string& owner, TimePoint now);
  void push(FairLine::Item item) { line_.push(std::move(item)); }
  /// How many of the waiting items may run now.
  std::size_t ready(TimePoint now) { return line_.ready(room(now), now); }
  /// The next item to run. Requires that one is ready.
  FairLine::Item take(TimePoint now) { return line_.take(room(now), now); }
  /// Takes the oldest item, to be given up. Requires that one waits.
  FairLine::Item take_oldest() { return line_.take_oldest(); }
  /// Notes that an item has ended.
  ///
  /// in: took - elapsed time
  void note_end(const std::string& owner, const CoreTime& spent, std::chrono::nanoseconds took,
                TimePoint end);

  std::size_t waiting() const { return line_.size(); }
  /// When the oldest item has waited too long.
  TimePoint end_of_oldest() const { return end_of_wait(line_.oldest_since()); }
  /// When an item that arrived at `since` has waited too long.
  TimePoint end_of_wait(TimePoint since) const;
  /// Threads for one owner's work, and for all work.
  unsigned max_threads() const { return max_threads_; }
  unsigned most_threads() const { return most_threads_; }

 private:
  Room room(TimePoint now);
  std::chrono::nanoseconds longest_wait() const;

  const unsigned max_threads_;
  const unsigned most_threads_;
  QueueLimits limits_;
  FairLine line_;
  bool is_draining_ = false;
  ConcurrencyLimit concurrency_limit_;
  AdmissionControl newcomers_;  ///< judges owners without items here
  UsualWork usual_;
  UsualWork crowds_;  ///< of owners that are a crowd
};

/// Threads for work that may block, behind a queue that is bounded in length and in time. A thread is started
/// only when work finds none idle, so that a pool for many slow engines costs little while it is not needed.
class WorkerPool {
 public:
  /// in: max_threads - see WorkSchedule; clock - measures how long work waits; must outlive the pool
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
  unsigned max_threads() const { return schedule_.max_threads(); }

 private:
  void work();
  void add_thread();
  void give_up_late();
  bool are_threads_missing(TimePoint now);

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable may_be_late_;
  WorkSchedule schedule_;    ///< draining once the pool is stopping
  bool is_watched_ = false;  ///< giver_up_ watches the queue
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
