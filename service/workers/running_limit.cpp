#include "service/workers/running_limit.h"

#include <algorithm>

namespace metafuse::service {
namespace {

/// Of all cores; the kernel, engines on this machine and clients need some too.
constexpr double kBusyShare = 0.45;

}  // namespace

std::size_t RunningLimit::at(Time now, std::chrono::nanoseconds cpu, std::size_t least) {
  if (is_fresh(now)) return now_;
  const std::chrono::duration<double> used = cpu - cpu_at_look_;
  const std::chrono::duration<double> passed = now - looked_at_;
  looked_at_ = now;
  cpu_at_look_ = cpu;
  const bool is_busy = used.count() > kBusyShare * passed.count() * cores_;
  now_ = is_busy ? now_ / 2 : now_ + now_ / 2 + 1;
  now_ = std::clamp(now_, std::min(least, most_), most_);
  return now_;
}

}  // namespace metafuse::service
