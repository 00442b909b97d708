#pragma once

#include <chrono>
#include <cstddef>

namespace metafuse::service {

/// Whether one more piece of work may wait. A queue takes up a crowd that comes at once; where more comes
/// than can be done for long, it only makes every answer late. So a queue that was once full is cut to half
/// of what runs, and doubles with every tenth of a second in which nobody is refused.
class QueueGate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// in: waiting - pieces that more than the `running` ones which may run; longest - the queue's length
  bool admits(std::size_t waiting, std::size_t running, std::size_t longest, Time now);

  /// Whether more comes than can be done.
  bool is_crowded(Time now) const { return now < whole_at_ && now < refused_at_ + kQuiet; }

 private:
  static constexpr std::chrono::milliseconds kQuiet{100};
  /// After so long the whole queue is tried in spite of refusals: clients that ask again at once look like a
  /// crowd. Seldom, because what is admitted then waits the whole queue.
  static constexpr std::chrono::seconds kTrial{10};

  std::size_t most(std::size_t running, std::size_t longest, Time now) const;

  Time whole_at_{};
  Time refused_at_{};
};

}  // namespace metafuse::service
