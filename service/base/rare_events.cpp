#include "service/base/rare_events.h"

#include <chrono>
#include <utility>

namespace metafuse::service {

bool RareEvents::is_due(std::string kind, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = told_.try_emplace(std::move(kind), now);
  if (!is_new && now - at->second < std::chrono::minutes(1)) return false;
  at->second = now;
  return true;
}

}  // namespace metafuse::service
