#include "service/workers/queue_gate.h"

#include <algorithm>

namespace metafuse::service {

bool QueueGate::admits(std::size_t waiting, std::size_t running, std::size_t longest, Time now) {
  const std::size_t places = most(running, longest, now);
  if (waiting < places) return true;
  if (places == longest) whole_at_ = now + kTrial;
  refused_at_ = now;
  return false;
}

/// How long the queue may be.
std::size_t QueueGate::most(std::size_t running, std::size_t longest, Time now) const {
  if (now >= whole_at_) return longest;
  // half of what runs: waiting takes no more than half the time of the work
  std::size_t places = std::max<std::size_t>(1, running / 2);
  for (Time quiet = refused_at_ + kQuiet; quiet <= now && places < longest; quiet += kQuiet) places *= 2;
  return std::min(places, longest);
}

}  // namespace metafuse::service
