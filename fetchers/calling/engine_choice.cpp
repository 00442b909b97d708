#include "fetchers/calling/engine_choice.h"

#include <map>

namespace metafuse::fetchers {
namespace {

using Verdict = Breaker::Verdict;

Verdict verdict_on(EngineState& instance, const std::string& sender, TimePoint now) {
  const std::lock_guard lock(instance.mutex);
  const Verdict verdict = instance.breaker.ask(now);
  const bool is_stuck = instance.overdue.keep_away(sender, instance.last_success);
  return verdict == Verdict::go && is_stuck ? Verdict::stay : verdict;
}

EngineChoice choice_of(EngineState& engine, const std::string& sender, bool uses_breaker, TimePoint now) {
  if (!engine.http || !uses_breaker) return {.asked = &engine};
  const Verdict verdict = verdict_on(engine, sender, now);
  if (verdict == Verdict::go) return {.asked = &engine};
  return {.asked = other_instance(engine, &engine, sender, now),
          .probed = verdict == Verdict::probe ? &engine : nullptr};
}

/// Whether the engine never saw the query: it is none for this engine, or our own limits kept it back.
bool was_kept_back(const FetchedList& list) {
  return list.requests == 0 || is_kept_back(list.failure, list.status);
}

/// The engine whose breaker will let a query through soonest, or the last one if no breaker is open.
EngineState* nearest_of(std::span<EngineState* const> engines) {
  EngineState* nearest = nullptr;
  EngineState* last = nullptr;
  TimePoint soonest{};
  for (EngineState* engine : engines) {
    if (engine == nullptr) continue;
    last = engine;
    const std::lock_guard lock(engine->mutex);
    if (engine->breaker.is_closed() || (nearest != nullptr && engine->breaker.open_until() >= soonest))
      continue;
    nearest = engine;
    soonest = engine->breaker.open_until();
  }
  return nearest != nullptr ? nearest : last;
}

}  // namespace

EngineState* other_instance(EngineState& engine, const EngineState* but, const std::string& sender,
                            TimePoint now) {
  const auto may_be_asked = [&](EngineState& instance) {
    const std::lock_guard lock(instance.mutex);
    return &instance != but && instance.breaker.may_be_tried(now) &&
           !instance.overdue.keep_away(sender, instance.last_success);
  };
  if (may_be_asked(engine)) return &engine;
  for (const auto& other : engine.others)
    if (may_be_asked(*other)) return other.get();
  return nullptr;
}

void note_outcome(EngineState& instance, const FetchedList& list, bool is_probe, TimePoint now) {
  const std::lock_guard lock(instance.mutex);
  if (list.blame == Blame::engine) {
    instance.breaker.failed(now, is_probe, list.retry_after);
  } else if (was_kept_back(list)) {
    if (is_probe) instance.breaker.forget_probe();
  } else if (list.failure == Failure::none || is_probe) {
    instance.breaker.succeeded();
  }
  if (list.failure == Failure::none && list.requests > 0) instance.last_success = now;
}

std::string why_left_alone(EngineState& engine) {
  const std::lock_guard lock(engine.mutex);
  return engine.breaker.is_closed()
             ? "the engine has not answered an earlier query yet; it is not asked until then"
             : "the engine failed several times; it is not asked for a while";
}

std::vector<EngineChoice> choose_engines(std::span<EngineState* const> engines, const std::string& sender,
                                         bool uses_breaker, TimePoint now) {
  std::vector<EngineChoice> out(engines.size());
  std::map<EngineState*, EngineChoice> known;
  bool is_any_asked = false;
  for (std::size_t i = 0; i < engines.size(); ++i) {
    if (engines[i] == nullptr) continue;
    const auto [at, is_new] = known.try_emplace(engines[i]);
    if (is_new) out[i] = at->second = choice_of(*engines[i], sender, uses_breaker, now);
    if (!is_new) out[i].asked = at->second.asked;
    is_any_asked = is_any_asked || out[i].asked != nullptr;
  }
  EngineState* const nearest = is_any_asked ? nullptr : nearest_of(engines);
  if (nearest == nullptr) return out;
  {
    const std::lock_guard lock(nearest->mutex);
    nearest->breaker.force();
  }
  for (std::size_t i = 0; i < engines.size(); ++i)
    if (engines[i] == nearest) out[i] = {.asked = nearest, .is_forced = true};
  return out;
}

}  // namespace metafuse::fetchers
