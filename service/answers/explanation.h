#pragma once

#include "core/json.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"

namespace metafuse::service {

/// How the answer was fused: {"method","model","version","notice","features":[...]}; with "online" where an
/// online reranker ordered, and "interleaved_with" where the order is drafted from two models'.
JsonObject fusion_json(const SearchAnswer& answer);

/// What an online reranker made of one result: "moved_from" and "online_score"; nothing without one.
void add_online(const FusedResult& result, JsonObject& out);

/// Why the model gave one result its score: [{"feature","rank","weight"}...], heaviest first; rank null where
/// the list does not hold it, weight null where the model is not a sum over lists. The weights sum to
/// `score`, whatever ordered the results after that.
JsonArray explanation_json(const LoadedDomain& domain, const SearchAnswer& answer, const FusedResult& result);

}  // namespace metafuse::service
