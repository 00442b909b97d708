#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "fetchers/calling/engine_state.h"
#include "fetchers/model/fetched_list.h"

namespace metafuse::fetchers {

/// Which instance of an engine one query is sent to.
struct EngineChoice {
  EngineState* asked = nullptr;   ///< for the list; nullptr: the engine is left alone
  EngineState* probed = nullptr;  ///< in the background too, because its breaker is half open
  bool is_forced = false;         ///< the breaker of `asked` is open; the query counts as a probe
};

/// Asks the breakers of the engines of one search. An engine that is left alone is replaced by the first of
/// its other instances that is not. If all were left alone, the one whose turn comes soonest is asked anyway.
///
/// in:     engines - of each query, in their order; nullptr where there is none
/// out:    one choice per query; only one query probes an engine
std::vector<EngineChoice> choose_engines(std::span<EngineState* const> engines, const std::string& sender,
                                         bool uses_breaker, TimePoint now);

/// The first instance of the engine that may be asked, other than `but`; nullptr when there is none. An open
/// breaker's pause must be over: nobody probes the other instances in the background.
EngineState* other_instance(EngineState& engine, const EngineState* but, const std::string& sender,
                            TimePoint now);

/// Tells an instance's breaker what came of a request. Its blame may be the engine's although it has a list,
/// whose further pages the engine refused.
///
/// in:     is_probe - whether the breaker waits for the outcome
void note_outcome(EngineState& instance, const FetchedList& list, bool is_probe, TimePoint now);

/// Why choose_engines() leaves the engine alone, for people.
std::string why_left_alone(EngineState& engine);

}  // namespace metafuse::fetchers
