#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"

namespace metafuse::service {

/// What one list had to say about one result.
struct Reason {
  std::string feature;           ///< "TEMPLATE@ENGINE", or a derived feature's name
  int rank = 0;                  ///< 0 when the list does not hold the result
  std::optional<double> weight;  ///< what it adds to the score; none when the model is not a sum over lists
};

/// Every feature that ranked the result or adds to its score, heaviest first, those of no weight by rank.
std::vector<Reason> reasons_of(const LoadedDomain& domain, const SearchAnswer& answer,
                               const FusedResult& result);

/// Engines whose lists hold the result, each once, in the order of the lists; the names are the answer's.
std::vector<std::string_view> engines_of(const SearchAnswer& answer, const FusedResult& result);

/// The results [first, first + limit) of an answer.
std::span<const FusedResult> window_of(const SearchAnswer& answer, std::size_t first, int limit);

/// Names of the engines whose lists are missing, each once: "e1, e2".
std::string failed_engines(const SearchAnswer& answer);

/// Why a list is missing: the kind of failure, which anybody may know.
/// in:     is_detailed - also the engine's own
/// words, which may name hosts and paths and are for administrators alone
std::string failure_text(const fetchers::FetchedList& list, bool is_detailed = false);

/// A weight for people: a dash where there is none.
std::string weight_text(const Reason& reason);

/// A number for people: up to three decimals.
std::string short_number(double value);

/// How the answer was fused: {"method","model","version","notice","features":[...]}; with "auto" where that
/// learner chose the model, with "online" where an online reranker ordered, and "interleaved_with" where the
/// order is drafted from two models'.
JsonObject fusion_json(const SearchAnswer& answer);

/// What an online reranker made of one result: "moved_from" and "online_score"; nothing without one.
void add_online(const FusedResult& result, JsonObject& out);

/// Why the model gave one result its score: [{"feature","rank","weight"}...], heaviest first; rank null where
/// the list does not hold it, weight null where the model is not a sum over lists. The weights sum to
/// `score`, whatever ordered the results after that.
JsonArray explanation_json(const LoadedDomain& domain, const SearchAnswer& answer, const FusedResult& result);

}  // namespace metafuse::service
