#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "service/http/exchange.h"
#include "service/learning/records.h"
#include "service/search/answer_cache.h"
#include "service/search/search_request.h"
#include "service/search/shown_results.h"

// What learning adds to the way of a search: the order that was learned and what people decided, before
// results are shown, and the record of what was shown, to which feedback refers.

namespace metafuse::service {

/// Whether some of a domain's searches compare its champion with a challenger.
bool is_interleaving(const Records& records, const Snapshot& snapshot, const LoadedDomain& domain);

/// Applies what was learned to an answer: some are interleaved with the challenger, the others are put into
/// the online reranker's order. An interleaved one is not reranked, because only the champion has a reranker:
/// the draft would compare more than the two models.
///
/// in: digest - of the search; its pages and repetitions within an hour get the same order
SharedAnswer learned_order(Records& records, const Snapshot& snapshot, const LoadedDomain& domain,
                           std::string_view digest, SharedAnswer answer);

/// What the store knows a domain's queries by.
StoreIdentity identity_of(const Records& records, const Snapshot& snapshot, const LoadedDomain& domain);

/// Plain queries that mean the same as the request's, by the synonyms of its domain's curation.
std::vector<std::string> synonyms_of(Records& records, const Exchange& exchange,
                                     const SearchRequest& request);

/// The answer after what judges and operators decided about its query.
SharedAnswer decided(Records& records, const Snapshot& snapshot, const LoadedDomain& domain,
                     SharedAnswer answer);

/// Stores what a reader is shown and sets its search id, unless the reader opted out or the store cannot
/// keep up.
void store_shown(Records& records, const Exchange& exchange, const LoadedDomain& domain,
                 const SearchAnswer& answer, ShownResults& shown);

/// Stores an answer as a judge sees it, so that grades can refer to it. It does not count as a search.
///
/// in:  positions - in answer.results, in the order in which the judge sees them
/// out: without `search` if it could not be stored
ShownResults show_to_judge(Records& records, const Exchange& exchange, const LoadedDomain& domain,
                           const SearchAnswer& answer, std::vector<std::size_t> positions);

/// Stores the search of an answer that is sent again.
///
/// out: the id under which this client knows it; "" if it could not be stored
std::string stored_again(Records& records, const Exchange& exchange, RepeatedSearch& search);

}  // namespace metafuse::service
