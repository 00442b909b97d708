#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"

namespace metafuse::service {

// How the server stays responsive under overload. ConcurrencyLimit lets only as much work run at once as
// keeps the cores busy, judged by CoreTime. AdmissionControl immediately refuses work that would wait
// too long.

/// A thread's time on the machine's cores.
struct CoreTime {
  std::chrono::nanoseconds ran{0};
  std::chrono::nanoseconds waited{0};  ///< ready to run while other threads had the cores

  friend CoreTime operator-(const CoreTime& a, const CoreTime& b) {
    return {a.ran - b.ran, a.waited - b.waited};
  }
};

/// Reads the kernel's account of the thread that constructed it; zeros if the kernel keeps none.
class CoreTimeMeter {
 public:
  CoreTimeMeter();
  CoreTimeMeter(const CoreTimeMeter&) = delete;
  CoreTimeMeter& operator=(const CoreTimeMeter&) = delete;
  ~CoreTimeMeter();

  /// cost: one read of a few bytes, about a microsecond
  CoreTime read() const;

 private:
  int file_;
};

/// Moving averages of how long pieces of work took.
class UsualWork {
 public:
  /// Adds a piece of work.
  ///
  /// in: took - elapsed time; is_busy - whether the cores were busy
  void note(const CoreTime& spent, std::chrono::nanoseconds took, bool is_busy);
  /// The average elapsed time; 0 before the first piece.
  std::chrono::nanoseconds took() const { return took_; }
  /// How many pieces may run at once so that `at_cores` of them have a core or wait for one, while the others
  /// wait for engines. The waits for engines are measured only while the cores are not busy: on busy cores
  /// engines are late, too, and running more work because of that would delay them further. `at_cores` before
  /// the first such measurement.
  std::size_t running_for(std::size_t at_cores, std::size_t most) const;

 private:
  static constexpr int kMeanOver = 8;

  std::chrono::nanoseconds took_{0};
  std::chrono::nanoseconds calm_took_{0};
  std::chrono::nanoseconds calm_at_cores_{0};
};

/// How many pieces of work may run at once: as few as keep the cores busy. More would make all of them slower
/// and none faster. Work that waits for engines leaves the cores idle; then all threads may run.
///
/// The cores count as busy if work waits for one, no matter which process has them.
class ConcurrencyLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// in: most - the number of threads
  explicit ConcurrencyLimit(std::size_t most) : most_(most), now_(most) {}

  /// Adds a piece of work that has ended.
  ///
  /// in: took - elapsed time
  void note(const CoreTime& spent, std::chrono::nanoseconds took);
  /// The current limit. Every kBetweenLooks it is halved if the cores were busy, else raised by half.
  ///
  /// in: least - the limit never falls below this
  std::size_t at(Time now, std::size_t least);
  /// Whether the last look found the cores busy.
  bool were_busy() const { return were_busy_; }

  static constexpr std::chrono::milliseconds kBetweenLooks{20};

 private:
  bool is_busy() const;

  const std::size_t most_;
  std::size_t now_;
  bool were_busy_ = false;
  Time looked_at_{};
  CoreTime spent_;  ///< since the last look, like `took_`
  std::chrono::nanoseconds took_{0};
};

/// Decides whether one more piece of work may wait, by its expected wait. A queue absorbs a short burst;
/// under lasting overload it only makes every answer late. So after a refusal, work may wait for at most half
/// of the time that a piece takes. That limit doubles with every tenth of a second without a refusal. While
/// more is refused than admitted, nothing may wait.
class AdmissionControl {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Wait = std::chrono::nanoseconds;

  /// in: wait - the expected wait; took - average time of a piece; longest - upper limit of any wait
  bool admits(Wait wait, Wait took, Wait longest, Time now);

  /// Whether the last refusal is so long ago that this is the same as a new object.
  bool is_at_rest(Time now) const { return now >= whole_at_; }
  /// Whether recently more was refused than admitted.
  bool is_crowded(Time now) const {
    return are_most_refused_ && now < whole_at_ && now < refused_at_ + kQuiet;
  }

 private:
  static constexpr std::chrono::milliseconds kQuiet{100};
  /// The period over which admissions and refusals are compared.
  static constexpr std::chrono::milliseconds kCount{20};
  /// After this time the longest wait is allowed again in spite of refusals, because clients that retry
  /// immediately look like a crowd. It is long, because work admitted then waits that long.
  static constexpr std::chrono::seconds kTrial{10};

  Wait patience(Wait took, Wait longest, Time now) const;
  void count(Time now);

  Time whole_at_{};
  Time refused_at_{};
  Time counted_since_{};
  std::size_t asked_ = 0;
  std::size_t refused_ = 0;
  bool are_most_refused_ = false;
};

/// How many items may run at once.
struct Room {
  std::size_t of_one;    ///< of any single owner
  std::size_t of_calm;   ///< of all owners that are no crowd, together
  std::size_t of_crowd;  ///< of all owners that are a crowd, together
};

/// A queue of work for threads that serves the owners of the work in turn: an owner that sends a crowd of
/// requests waits for them itself, the other owners do not (fair queueing, Nagle 1987). With one owner it is
/// first come, first served.
///
/// Each owner with work here has its own AdmissionControl. The owner is a crowd while that refuses more than
/// it admits. Crowds have places of their own (Room::of_crowd), so that they take neither turns nor places
/// from others.
///
/// Not thread-safe: WorkerPool locks its mutex around every call.
class FairLine {
 public:
  struct Item {
    std::function<void()> work;
    std::function<void()> give_up;
    TimePoint since;
    std::string owner;  ///< whose work it is: a key or an address prefix
  };

  void push(Item item);
  /// How many of the waiting items may run now.
  ///
  /// cost: linear in the owners that have work here or were refused recently
  std::size_t ready(const Room& room, TimePoint now) const;
  /// Takes the oldest item of the owner with the fewest running items; at a tie, of the owner whose last turn
  /// is longest ago. The item counts as running until note_end(). Requires that one is ready.
  ///
  /// cost: as ready()
  Item take(const Room& room, TimePoint now);
  void note_end(std::string_view owner);
  /// Takes the oldest item of all, to be given up. Requires a line that is not empty.
  Item take_oldest();
  TimePoint oldest_since() const;

  std::size_t size() const { return size_; }
  /// The number of turns until one more item of `owner` would have had its own: all of its items, and of each
  /// other owner that shares its places at most as many.
  std::size_t turns_for(std::string_view owner, TimePoint now) const;
  /// The admission control for one more item of `owner`; nullptr if it has no items here.
  AdmissionControl* admission(std::string_view owner);
  bool is_crowd(std::string_view owner, TimePoint now) const;
  void forget_refusals();

 private:
  struct Owner {
    std::string name;
    std::size_t running = 0;
    std::uint64_t last_turn = 0;  ///< 0 before the first
    std::deque<Item> waiting;
    AdmissionControl admission;

    std::size_t items() const { return running + waiting.size(); }
  };
  /// At most this many owners without items here are remembered for their refusals.
  static constexpr std::size_t kMostRemembered = 128;

  Owner* find(std::string_view name);
  const Owner* find(std::string_view name) const { return const_cast<FairLine*>(this)->find(name); }
  Owner& owner(const std::string& name, TimePoint now);
  void forget_idle(TimePoint now);
  Item take_front(Owner& from);
  Room free_places(const Room& room, TimePoint now) const;

  std::vector<Owner>
      owners_;  ///< owners with work here or refused recently; few, so that linear searches suffice
  std::size_t size_ = 0;
  std::uint64_t turns_ = 0;
};

}  // namespace metafuse::service
