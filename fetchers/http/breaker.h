#pragma once

#include <optional>

#include "core/deadline.h"

namespace metafuse::fetchers {

/// A circuit breaker: leaves an engine alone that failed several times in a row. It is closed at first, then
/// open for a while, then half open: one probe is sent, whose outcome closes it or opens it for longer. A
/// plain value; the caller does the locking.
class Breaker {
 public:
  enum class Verdict {
    go,
    probe,  ///< send one request whose outcome decides; users should not wait for it
    stay,   ///< leave the engine alone
  };

  /// After it returned `probe`, every call returns `stay` until the probe's outcome is reported.
  Verdict ask(TimePoint now);
  /// Sends a request although the breaker is open, because no other engine is left. It counts as a probe.
  void force();
  void succeeded();
  /// The probe was not sent, so that it tells nothing: the next one is due at once.
  void forget_probe() { is_probing_ = false; }
  /// in:     is_probe - whether ask() or force() let this request through as a probe; retry_after - the pause
  ///         that the engine asked for. The engine is then left alone at least that long, even after its
  ///         first failure.
  void failed(TimePoint now, bool is_probe, std::optional<Duration> retry_after = std::nullopt);

  bool is_closed() const { return !open_until_; }
  /// Whether a request may be sent whose outcome the caller reports as a probe's.
  bool may_be_tried(TimePoint now) const { return is_closed() || (!is_probing_ && now >= *open_until_); }
  /// When the next probe is due. Requires !is_closed().
  TimePoint open_until() const { return *open_until_; }

 private:
  void open(TimePoint now, std::optional<Duration> retry_after);

  int failures_in_a_row_ = 0;
  int times_opened_ = 0;
  bool is_probing_ = false;
  std::optional<TimePoint> open_until_;
};

}  // namespace metafuse::fetchers
