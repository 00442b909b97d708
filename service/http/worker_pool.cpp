#include "service/http/worker_pool.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace metafuse::service {
namespace {

constexpr std::chrono::hours kNoEnd{24};

constexpr unsigned kWorkersPerCore = 32;
constexpr unsigned kRunningPerCore = 3;

unsigned core_count() {
  return std::max(1U, std::thread::hardware_concurrency());
}

/// More than one per core, because searches that run together share the fetcher's passes over the sockets,
/// which is cheaper.
std::size_t running_when_busy() {
  return kRunningPerCore * core_count();
}

/// One per core: each piece is finished as fast as possible, although all together take a little longer.
std::size_t running_in_crowd() {
  return core_count();
}

}  // namespace

WorkSchedule::WorkSchedule(unsigned max_threads, const QueueLimits& limits)
    : max_threads_(max_threads),
      most_threads_(max_threads + (max_threads + 3) / 4),
      limits_(limits),
      concurrency_limit_(most_threads_) {}

void WorkSchedule::set_limits(const QueueLimits& limits) {
  limits_ = limits;
  newcomers_ = {};
  line_.forget_refusals();
}

/// How many items may run at once at this moment.
Room WorkSchedule::room(TimePoint now) {
  if (is_draining_) return {most_threads_, most_threads_, most_threads_};
  if (limits_.max_running_when_busy == 0) return {max_threads_, most_threads_, most_threads_};
  const std::size_t busy = limits_.max_running_when_busy;
  const std::size_t crowd = limits_.max_running_in_crowd > 0 ? limits_.max_running_in_crowd : busy;
  const std::size_t fewest = concurrency_limit_.at(now, crowd);
  if (newcomers_.is_crowded(now)) return {max_threads_, fewest, fewest};
  return {max_threads_, std::max(fewest, usual_.running_for(busy, most_threads_)), fewest};
}

bool WorkSchedule::admits(const std::string& owner, TimePoint now) {
  const bool is_crowd = line_.is_crowd(owner, now);
  const Room places = room(now);
  const std::size_t running = std::min(places.of_one, is_crowd ? places.of_crowd : places.of_calm);
  const std::size_t turns = line_.turns_for(owner, now);
  const std::size_t before = turns - std::min(turns, running);
  using Wait = AdmissionControl::Wait;
  const Wait took = (is_crowd && crowds_.took() > Wait::zero() ? crowds_ : usual_).took();
  const Wait wait = before > limits_.max_queue ? Wait::max() : Wait(took * before / running);
  AdmissionControl* own = line_.admission(owner);
  return (own != nullptr ? *own : newcomers_).admits(wait, took, longest_wait(), now);
}

void WorkSchedule::note_end(const std::string& owner, const CoreTime& spent, std::chrono::nanoseconds took,
                            TimePoint end) {
  (line_.is_crowd(owner, end) ? crowds_ : usual_).note(spent, took, concurrency_limit_.were_busy());
  line_.note_end(owner);
  concurrency_limit_.note(spent, took);
}

/// The longest wait that is planned for. The last quarter of the limit is a reserve for wrong expectations,
/// so that a stall does not make waiting work be given up.
std::chrono::nanoseconds WorkSchedule::longest_wait() const {
  return limits_.max_wait > std::chrono::nanoseconds::zero() ? limits_.max_wait * 3 / 4 : kNoEnd;
}

TimePoint WorkSchedule::end_of_wait(TimePoint since) const {
  return limits_.max_wait > std::chrono::nanoseconds::zero() ? since + limits_.max_wait : TimePoint::max();
}

WorkerPool::WorkerPool(unsigned max_threads, const QueueLimits& limits, const Clock& clock)
    : clock_(clock), schedule_(max_threads, limits) {
  giver_up_ = std::thread([this] { give_up_late(); });
}

WorkerPool::~WorkerPool() {
  stop();
}

bool WorkerPool::try_run(std::function<void()> work, std::function<void()> give_up,
                         const std::string& owner) {
  bool needs_watch = false;
  {
    const std::lock_guard lock(mutex_);
    const TimePoint now = clock_.now();
    if (schedule_.is_draining() || !schedule_.admits(owner, now)) return false;
    schedule_.push({std::move(work), std::move(give_up), now, owner});
    if (schedule_.ready(now) + running_ > threads_.size()) add_thread();
    needs_watch = !is_watched_ && are_threads_missing(now);
  }
  ready_.notify_one();
  if (needs_watch) may_be_late_.notify_one();
  return true;
}

void WorkerPool::add_thread() {
  if (threads_.size() >= schedule_.most_threads()) return;
  try {
    threads_.emplace_back(&WorkerPool::work, this);
  } catch (const std::system_error&) {
    // the system has no more threads: the existing ones continue
  }
}

void WorkerPool::set_limits(const QueueLimits& limits) {
  {
    const std::lock_guard lock(mutex_);
    schedule_.set_limits(limits);
  }
  may_be_late_.notify_one();
}

void WorkerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    schedule_.drain();
  }
  ready_.notify_all();
  may_be_late_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
  if (giver_up_.joinable()) giver_up_.join();
}

std::size_t WorkerPool::queued() const {
  const std::lock_guard lock(mutex_);
  return schedule_.waiting();
}

void WorkerPool::work() {
  const CoreTimeMeter meter;
  std::unique_lock lock(mutex_);
  while (true) {
    TimePoint begin;
    ready_.wait(lock, [&] {
      begin = clock_.now();
      return schedule_.is_draining() || schedule_.ready(begin) > 0;
    });
    if (schedule_.waiting() == 0) return;
    const bool may_be_late = !schedule_.is_draining() && are_threads_missing(begin);
    FairLine::Item next = schedule_.take(begin);
    if (may_be_late && schedule_.end_of_wait(next.since) <= begin) next.work = std::move(next.give_up);
    ++running_;
    lock.unlock();
    const CoreTime before = meter.read();
    next.work();
    next.work = next.give_up = nullptr;
    const CoreTime spent = meter.read() - before;
    lock.lock();
    --running_;
    const TimePoint end = clock_.now();
    schedule_.note_end(next.owner, spent, end - begin, end);
  }
}

/// Whether work waits because threads are missing. If a thread is free, the system has merely not scheduled
/// it yet.
bool WorkerPool::are_threads_missing(TimePoint now) {
  const std::size_t ready = schedule_.ready(now);
  return ready < schedule_.waiting() || running_ + ready > threads_.size();
}

/// Gives up items that have waited too long; it watches only the oldest one. While every item finds a thread
/// at once, this thread sleeps.
void WorkerPool::give_up_late() {
  std::unique_lock lock(mutex_);
  while (!schedule_.is_draining()) {
    is_watched_ = schedule_.waiting() > 0;
    if (!is_watched_) {
      may_be_late_.wait(lock);
      continue;
    }
    const TimePoint now = clock_.now();
    const bool may_be_late = are_threads_missing(now);
    const TimePoint end = schedule_.end_of_oldest();
    if (may_be_late && end <= now) {
      const FairLine::Item late = schedule_.take_oldest();
      lock.unlock();
      late.give_up();
      lock.lock();
    } else {
      // more may run by now, or a free thread was not woken while the cores were busy
      if (schedule_.ready(now) > 0) ready_.notify_all();
      const Duration next_look = ConcurrencyLimit::kBetweenLooks;
      may_be_late_.wait_for(lock, may_be_late ? std::min(end - now, next_look) : next_look);
    }
  }
}

unsigned worker_count(const ServerConfig& config) {
  return config.workers > 0 ? config.workers : kWorkersPerCore * core_count();
}

QueueLimits queue_limits(const LimitsConfig& limits) {
  return {limits.max_queue,
          std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::duration<double>(limits.queue_seconds)),
          running_when_busy(), running_in_crowd()};
}

}  // namespace metafuse::service
