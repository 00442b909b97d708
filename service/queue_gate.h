#pragma once

#include <chrono>
#include <cstddef>

namespace metafuse::service {

/// Whether one more piece of work may wait. A queue takes up a crowd that comes at once; where more comes
/// than can be done for long, it only makes every answer late. So a queue that was filled once is kept short
/// until the crowd has gone.
class QueueGate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// in: waiting - pieces that more than the `running` ones which may run; longest - the queue's length
  bool admits(std::size_t waiting, std::size_t running, std::size_t longest, Time now);

  /// Whether more comes than can be done.
  bool is_crowded(Time now) const { return now < crowded_until_ && now < refused_at_ + kQuiet; }

 private:
  /// Refusals go on while more comes than can be done; without any for so long, the crowd has gone.
  static constexpr std::chrono::milliseconds kQuiet{100};
  /// After so long the whole queue is tried again: clients that ask again at once look like a crowd.
  static constexpr std::chrono::seconds kTrial{2};

  Time crowded_until_{};
  Time refused_at_{};
};

}  // namespace metafuse::service
