#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace metafuse {
namespace {

/// Up to `count` threads that run `run(0)`, `run(1)` and so on. Where the system makes no more threads, those
/// that exist are enough, since none of the work belongs to a certain one.
std::vector<std::jthread> started(std::size_t count, const std::function<void(unsigned)>& run) {
  std::vector<std::jthread> threads;
  threads.reserve(count);
  try {
    while (threads.size() < count) threads.emplace_back(run, static_cast<unsigned>(threads.size()));
  } catch (const std::exception&) {  // std::system_error, or std::bad_alloc
  }
  return threads;
}

}  // namespace

void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&](unsigned) {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  const std::size_t helpers =
      std::min<std::size_t>(std::max(threads, 1U), std::max<std::size_t>(count, 1)) - 1;
  {
    const auto pool = started(helpers, run);
    run(0);
  }
  if (failure) std::rethrow_exception(failure);
}

Result<void> try_parallel_for(std::size_t count, unsigned threads,
                              const std::function<Result<void>(std::size_t)>& work) {
  std::mutex mutex;
  std::atomic<std::size_t> failed{count};
  Error error;
  // The calls start in ascending order, so those below the first failure have all started.
  parallel_for(count, threads, [&](std::size_t i) {
    if (i > failed) return;
    auto done = work(i);
    if (done) return;
    const std::lock_guard lock(mutex);
    if (i > failed) return;
    failed = i;
    error = std::move(done.error());
  });
  if (failed < count) return error;
  return {};
}

unsigned hardware_threads() {
  return std::max(1U, std::thread::hardware_concurrency());
}

namespace {

/// Hands blocks from the reading thread to the workers, of which there are as many as could be started. Each
/// worker has one slot, whose block is either waiting or being processed.
class Workers {
 public:
  Workers(unsigned threads, const TakeBlockOnWorker& take) : take_(take), slots_(threads) {
    pool_ = started(threads, [this](unsigned worker) { run(worker); });
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() { join(); }

  bool is_empty() const { return pool_.empty(); }

  /// Waits for a free worker and gives it the block.
  /// out:    false when a worker has failed, so that no more blocks are wanted
  bool give(std::string_view lines, std::size_t first_line) {
    std::unique_lock lock(mutex_);
    std::size_t free = pool_.size();
    changed_.wait(lock, [&] {
      for (free = 0; free < pool_.size() && slots_[free].is_full; ++free) {
      }
      return free < pool_.size() || has_failed();
    });
    if (has_failed()) return false;
    Slot& slot = slots_[free];
    lock.unlock();  // only this thread fills an empty slot
    slot.lines.assign(lines);
    slot.first_line = first_line;
    lock.lock();
    slot.is_full = true;
    changed_.notify_all();
    return true;
  }

  /// Waits for all workers to finish.
  /// out:    the error that is earliest in the file, if any
  std::optional<Error> finish() {
    join();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return error_;
  }

 private:
  struct Slot {
    std::string lines;
    std::size_t first_line = 0;
    bool is_full = false;
  };

  void join() {
    {
      const std::lock_guard lock(mutex_);
      is_finished_ = true;
      changed_.notify_all();
    }
    pool_.clear();
  }

  bool has_failed() const { return error_.has_value() || failure_ != nullptr; }

  void run(unsigned worker) {
    Slot& slot = slots_[worker];
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return slot.is_full || is_finished_; });
      if (!slot.is_full) return;
      lock.unlock();
      std::optional<Error> error;
      std::exception_ptr failure;
      try {
        if (auto taken = take_(worker, slot.lines, slot.first_line); !taken) error = taken.error();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      slot.is_full = false;
      if (failure && !failure_) failure_ = failure;
      if (error && (!error_ || slot.first_line < error_line_)) {
        error_ = std::move(error);
        error_line_ = slot.first_line;
      }
      changed_.notify_all();
    }
  }

  const TakeBlockOnWorker& take_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  bool is_finished_ = false;
  std::optional<Error> error_;
  std::size_t error_line_ = 0;
  std::exception_ptr failure_;
  std::vector<std::jthread> pool_;
};

}  // namespace

Result<void> for_each_block_on_workers(const std::string& path, unsigned threads,
                                       const TakeBlockOnWorker& take, const TextLimits& limits) {
  const auto on_this_thread = [&] {
    return for_each_block(
        path, [&](std::string_view lines, std::size_t first_line) { return take(0, lines, first_line); },
        limits);
  };
  if (threads <= 1) return on_this_thread();
  Workers workers(threads, take);
  if (workers.is_empty()) return on_this_thread();
  const Error stopped = fail(Code::internal, "a worker failed");
  auto read = for_each_block(
      path,
      [&](std::string_view lines, std::size_t first_line) -> Result<void> {
        if (workers.give(lines, first_line)) return {};
        return stopped;
      },
      limits);
  if (const auto error = workers.finish()) return *error;
  return read;
}

}  // namespace metafuse
