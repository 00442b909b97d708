#pragma once

#include <chrono>
#include <cstddef>

namespace metafuse::service {

// How the server stays quick when more is asked than the cores can do: as little as keeps them
// busy runs at once (ConcurrencyLimit, fed by CoreTime), and what would wait too long is refused
// at once (AdmissionControl).

/// What a thread got of the machine's cores.
struct CoreTime {
  std::chrono::nanoseconds ran{0};
  std::chrono::nanoseconds waited{0};  ///< ready to run, while others had the cores

  friend CoreTime operator-(const CoreTime& a, const CoreTime& b) {
    return {a.ran - b.ran, a.waited - b.waited};
  }
};

/// Reads the kernel's account of the thread that made it; zeros where the kernel keeps none.
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

/// What the last pieces of work took, in the mean.
class UsualWork {
 public:
  /// in: took - by the clock; is_busy - whether the cores were
  void note(const CoreTime& spent, std::chrono::nanoseconds took, bool is_busy);
  /// 0 before the first
  std::chrono::nanoseconds took() const { return took_; }
  /// How many run at once when so many of them have a core or wait for one, the others for engines. Counts
  /// how long work waits for engines while the cores are calm: engines on busy cores are late as well, and
  /// running more for it would make them later. Before the first such work, as many as are at cores.
  std::size_t running_for(std::size_t at_cores, std::size_t most) const;

 private:
  static constexpr int kMeanOver = 8;

  std::chrono::nanoseconds took_{0};
  std::chrono::nanoseconds calm_took_{0};
  std::chrono::nanoseconds calm_at_cores_{0};
};

/// How many pieces of work may run at once: as few as keep the cores busy. More would make all of it late and
/// none of it sooner. Work that waits for engines leaves the cores idle, and then may take every thread.
///
/// The cores are busy when work waits for one, whoever it is that has them.
class ConcurrencyLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// in: most - threads there are
  explicit ConcurrencyLimit(std::size_t most) : most_(most), now_(most) {}

  /// Notes a piece of work that has ended.
  ///
  /// in: took - by the clock
  void note(const CoreTime& spent, std::chrono::nanoseconds took);
  /// The limit at this moment. Halved for each look that finds the cores busy, half as much again for each
  /// that does not.
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
  CoreTime spent_;  ///< since the last look, as `took_`
  std::chrono::nanoseconds took_{0};
};

/// Whether one more piece of work may wait, by how long it would. A queue takes up a crowd that comes at
/// once; where more comes than can be done for long, it only makes every answer late. So once work was
/// refused, it may wait for no more than half of the time that a piece takes, and for twice as long with
/// every tenth of a second in which nothing is refused. While more is refused than admitted, nothing waits.
class AdmissionControl {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Wait = std::chrono::nanoseconds;

  /// in: wait - the expected one; took - time of the last pieces, in the mean; longest - wait of any
  bool admits(Wait wait, Wait took, Wait longest, Time now);

  /// Whether nothing was refused for so long that this is as good as a new one.
  bool is_at_rest(Time now) const { return now >= whole_at_; }
  /// Whether more was refused than admitted just now.
  bool is_crowded(Time now) const {
    return are_most_refused_ && now < whole_at_ && now < refused_at_ + kQuiet;
  }

 private:
  static constexpr std::chrono::milliseconds kQuiet{100};
  /// Admissions and refusals are compared over so long.
  static constexpr std::chrono::milliseconds kCount{20};
  /// After so long the longest wait is allowed in spite of refusals: clients that ask again at once look like
  /// a crowd. Seldom, because what is admitted then waits that long.
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

}  // namespace metafuse::service
