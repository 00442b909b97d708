#pragma once

#include <chrono>
#include <cstddef>

namespace metafuse::service {

/// Whether one more piece of work may wait, by how long it would. A queue takes up a crowd that comes at
/// once; where more comes than can be done for long, it only makes every answer late. So once work was
/// refused, it may wait for no more than half of the time that a piece takes, and for twice as long with
/// every tenth of a second in which nothing is refused. While more is refused than admitted, nothing waits.
class QueueGate {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Wait = std::chrono::nanoseconds;

  /// in: wait - the expected one; took - time of the last pieces, in the mean; longest - wait of any
  bool admits(Wait wait, Wait took, Wait longest, Time now);

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
