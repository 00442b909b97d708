#include "service/queue_gate.h"

#include <algorithm>

namespace metafuse::service {

bool QueueGate::admits(std::size_t waiting, std::size_t running, std::size_t longest, Time now) {
  const bool was_crowded = is_crowded(now);
  // half of what runs: waiting takes no more than half the time of the work
  const std::size_t most = was_crowded ? std::min(longest, std::max<std::size_t>(1, running / 2)) : longest;
  if (waiting < most) return true;
  if (!was_crowded) crowded_until_ = now + kTrial;
  refused_at_ = now;
  return false;
}

}  // namespace metafuse::service
