#include "service/workers/running_limit.h"

#include <algorithm>

namespace metafuse::service {
namespace {

/// Waiting for a core counts from half of the time on one: some of it is there on an idle machine.
constexpr int kWaitPerRun = 2;
/// Work that spends less than this share of its time on a core or waiting for one waits for engines.
constexpr int kLeastShare = 32;

}  // namespace

void RunningLimit::note(const CoreTime& spent, std::chrono::nanoseconds took) {
  spent_.ran += spent.ran;
  spent_.waited += spent.waited;
  took_ += took;
}

bool RunningLimit::is_busy() const {
  return kWaitPerRun * spent_.waited > spent_.ran && kLeastShare * (spent_.ran + spent_.waited) > took_;
}

std::size_t RunningLimit::at(Time now, std::size_t least) {
  if (now - looked_at_ < kBetweenLooks) return now_;
  now_ = is_busy() ? now_ / 2 : now_ + now_ / 2 + 1;
  now_ = std::clamp(now_, std::min(least, most_), most_);
  looked_at_ = now;
  spent_ = {};
  took_ = {};
  return now_;
}

}  // namespace metafuse::service
