#pragma once

#include <optional>

#include "core/deadline.h"

namespace metafuse::fetchers {

struct BreakerOptions {
  int failures_to_open = 5;
  Duration first_backoff = std::chrono::seconds(2);  ///< doubled by every probe that fails
  Duration longest_backoff = std::chrono::minutes(5);
  Duration longest_retry_after = std::chrono::hours(1);
};

/// Leaves an engine alone that failed several times in a row: closed, then open for a while, then half open
/// with one probe, whose outcome closes it or opens it for longer. A value; the caller locks.
class Breaker {
 public:
  enum class Verdict {
    go,
    probe,  ///< send one request whose outcome decides; a user should not wait for it
    stay,   ///< leave the engine alone
  };

  explicit Breaker(BreakerOptions options = {}) : options_(options) {}

  /// After `probe`, every call says `stay` until the probe's outcome is reported.
  Verdict ask(TimePoint now);
  /// A request that is sent although the engine should be left alone, because no other engine is left.
  void force();
  void succeeded();
  /// in: is_probe - of the request that ask() or force() let through as a probe; retry_after - what the
  /// engine asks
  ///     for: it is left alone at least that long, from the first failure on
  void failed(TimePoint now, bool is_probe, std::optional<Duration> retry_after = std::nullopt);

  bool is_closed() const { return !open_until_; }
  /// When the next probe is due; requires !is_closed().
  TimePoint open_until() const { return *open_until_; }

 private:
  void open(TimePoint now, std::optional<Duration> retry_after);

  BreakerOptions options_;
  int failures_in_a_row_ = 0;
  int times_opened_ = 0;
  bool is_probing_ = false;
  std::optional<TimePoint> open_until_;
};

}  // namespace metafuse::fetchers
