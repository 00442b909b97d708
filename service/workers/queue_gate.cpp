#include "service/workers/queue_gate.h"

#include <algorithm>

namespace metafuse::service {

bool QueueGate::admits(Wait wait, Wait took, Wait longest, Time now) {
  count(now);
  const Wait most = patience(took, longest, now);
  if (wait <= most) return true;
  if (most >= longest) whole_at_ = now + kTrial;
  refused_at_ = now;
  ++refused_;
  return false;
}

void QueueGate::count(Time now) {
  if (now >= counted_since_ + kCount) {
    are_most_refused_ = 2 * refused_ > asked_;
    counted_since_ = now;
    asked_ = refused_ = 0;
  }
  ++asked_;
}

/// How long work may wait just now.
QueueGate::Wait QueueGate::patience(Wait took, Wait longest, Time now) const {
  if (now >= whole_at_) return longest;
  if (is_crowded(now)) return Wait{0};
  Wait most = took / 2;
  for (Time quiet = refused_at_ + kQuiet; quiet <= now && most < longest; quiet += kQuiet) most *= 2;
  return std::min(most, longest);
}

}  // namespace metafuse::service
