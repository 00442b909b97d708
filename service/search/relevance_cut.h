#pragma once

#include <cstddef>
#include <vector>

#include "core/result.h"
#include "service/config/snapshot.h"
#include "service/search/answer_cache.h"
#include "service/search/search_answer.h"

namespace metafuse::service {

/// Requests may ask only for results of at least some relevance. It exists if the domain's model was
/// calibrated, that is, knows what share of documents is relevant at each score.

/// errors: usage: the domain's results have no relevance; the error says why and what to do
Result<void> check_min_relevance(const LoadedDomain& domain, double min_relevance);

/// Moves the results below a relevance to the end, where they are not shown. What an operator pinned or added
/// stays. Returns the same answer if min_relevance is 0.
SharedAnswer with_min_relevance(SharedAnswer answer, double min_relevance);

/// The scores from 0 to 1 of some results, for dialects in which a score has no more meaning than that: the
/// relevance if the domain's model was calibrated, else the relative score. None is below that of a result
/// after it, because clients sort by it again, and must not undo the order that an operator decided.
///
/// in: positions - in answer.results
std::vector<double> unit_scores(const SearchAnswer& answer, const std::vector<std::size_t>& positions);

/// Adds what became of a request's min_relevance: {"no_good_answer","below_min_relevance"}; nothing if it has
/// none. There is no good answer if there are results, but all of them are below it.
void add_relevance_cut(const SearchAnswer& answer, JsonObject& out);

}  // namespace metafuse::service
