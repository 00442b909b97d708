#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"

namespace metafuse::service {

/// What one feature contributed to one result's place.
struct Reason {
  std::string feature;  ///< "TEMPLATE@ENGINE", or a derived feature's name
  int rank = 0;         ///< 0 when the list does not hold the result
  /// What it adds to the score; nothing when the model is not a sum over features.
  std::optional<double> weight;
};

/// Every feature that ranked the result or adds to its score: by weight, heaviest first, or by rank if the
/// model gives no weights.
std::vector<Reason> reasons_of(const LoadedDomain& domain, const SearchAnswer& answer,
                               const FusedResult& result);

/// Engines whose lists hold the result, each once, in the order of the lists. The views point into
/// the answer.
std::vector<std::string_view> engines_of(const SearchAnswer& answer, const FusedResult& result);

/// Names of the engines whose lists are missing, each once: "e1, e2".
std::string failed_engines(const SearchAnswer& answer);

/// What a missing list is called: its engine, or itself if it was made here.
const std::string& failed_name(const fetchers::FetchedList& list);

/// Why a list is missing: the kind of failure, which anybody may know.
///
/// in: is_detailed - adds the engine's own words, which may name hosts and paths: for administrators only
std::string failure_text(const fetchers::FetchedList& list, bool is_detailed = false);

/// Notes a failure for people, each once, and at most ten.
void note_once(std::string what, std::vector<std::string>& known);
/// Notes what a list lacks, with the engine's own words.
void note_failure(const fetchers::FetchedList& list, std::vector<std::string>& known);

/// A weight for people; a dash if there is none.
std::string weight_text(const Reason& reason);

/// A number for people: three decimals, four below 0.1.
std::string short_number(double value);

/// How the answer was fused: {"method","model","version","notice","features":[...]}; with "auto" if that
/// learner chose the model, "learned_from" if its file says, "online" if an online reranker ordered the
/// results, and "interleaved_with" if the order was drafted from two models' orders.
JsonObject fusion_json(const SearchAnswer& answer);

/// The lists that were not asked for: [{"feature","engine","why"}].
JsonArray not_asked_json(const SearchAnswer& answer);

/// "pinned", "added", or "".
std::string_view name_of(Decided decided);
/// Adds "judged", the grade of a judged result, and "decided", if an operator placed it.
void add_decisions(const FusedResult& result, JsonObject& out);
/// Adds "moved_from" and "online_score" if an online reranker ordered the result.
void add_online(const FusedResult& result, JsonObject& out);

/// {"feature","rank","weight"}; null for a rank or weight that there is not.
JsonObject reason_json(const Reason& reason);

/// Why the model gave one result its score: [{"feature","rank","weight"}...], heaviest first; "rank" is null
/// if the list does not hold the result, "weight" if the model is not a sum over features. The weights sum to
/// `score`, even if something else reordered the results afterwards.
JsonArray explanation_json(const LoadedDomain& domain, const SearchAnswer& answer, const FusedResult& result);

}  // namespace metafuse::service
