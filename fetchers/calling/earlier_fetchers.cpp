#include "fetchers/calling/earlier_fetchers.h"

#include <algorithm>

#include "fetchers/calling/embedder.h"
#include "fetchers/calling/engine_state.h"

namespace metafuse::fetchers {
namespace {

/// What was learned from answers. A probe that is under way reports to the earlier fetcher; the new one sends
/// its own.
void take_over_health(EngineState& to, EngineState& from) {
  const std::lock_guard lock(from.mutex);
  to.breaker = from.breaker;
  to.breaker.forget_probe();
  to.learned_wait = from.learned_wait;
  to.last_success = from.last_success;
  to.largest_page = from.largest_page;
}

void take_over(EngineState& to, EngineState& from) {
  if (!to.http || !from.http) return;
  if (to.tokens && from.tokens && to.http->access.auth == from.http->access.auth) {
    to.tokens = from.tokens;
    for (const auto& other : to.others) other->tokens = from.tokens;
  }
  if (to.engine != from.engine) return;
  take_over_health(to, from);
  for (std::size_t i = 0; i < std::min(to.others.size(), from.others.size()); ++i)
    if (to.others[i]->engine == from.others[i]->engine) take_over_health(*to.others[i], *from.others[i]);
}

}  // namespace

std::shared_ptr<FetcherState> EarlierFetchers::latest() {
  std::erase_if(states_, [](const auto& state) { return state.expired(); });
  return states_.empty() ? nullptr : states_.back().lock();
}

void EarlierFetchers::hand_on(const std::shared_ptr<FetcherState>& to) {
  const std::lock_guard lock(mutex_);
  const auto from = latest();
  for (const auto& engine : to->engines)
    if (EngineState* const known = from ? from->find(engine->engine.name) : nullptr)
      take_over(*engine, *known);
  if (from) to->embedder->take_over(*from->embedder);
  states_.push_back(to);
}

std::shared_ptr<Transport> EarlierFetchers::token_transport() {
  const std::lock_guard lock(mutex_);
  const auto from = latest();
  return from ? from->token_transport.lock() : nullptr;
}

}  // namespace metafuse::fetchers
