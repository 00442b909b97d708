#pragma once

#include <functional>
#include <utility>

namespace metafuse::fetchers {

/// When work on an answer or a page must end: its time is over, or nobody waits for it any more. Loops over
/// what a sender wrote ask at every step.
class WorkEnd {
 public:
  /// The work may go on for ever.
  WorkEnd() = default;
  explicit WorkEnd(std::function<bool()> is_over) : is_over_(std::move(is_over)) {}

  /// Whether the end has come; once it has, it stays. The clock is looked at only every kStride steps.
  bool has_come() {
    if (has_come_ || !is_over_) return has_come_;
    if (++steps_ % kStride == 1) has_come_ = is_over_();
    return has_come_;
  }

  /// The same before a step that may take long: the clock is looked at.
  bool has_come_by_now() {
    if (!has_come_ && is_over_) has_come_ = is_over_();
    return has_come_;
  }

 private:
  static constexpr unsigned kStride = 128;

  std::function<bool()> is_over_;
  unsigned steps_ = 0;
  bool has_come_ = false;
};

}  // namespace metafuse::fetchers
