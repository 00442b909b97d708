#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/deadline.h"
#include "core/query.h"
#include "core/result.h"
#include "service/config/snapshot.h"
#include "service/search/search_answer.h"
#include "service/search/search_request.h"

namespace metafuse::service {

/// Called with the fused answer to the lists so far.
using PartialAnswer =
    std::function<void(const SearchAnswer& so_far, std::size_t arrived, std::size_t wanted)>;

/// How long a request may take: what it asks for, else the configuration's deadline.
Duration deadline_of(const ServerConfig& config, const SearchRequest& request);

/// Expands, fetches and fuses: what `metafuse search` and every dialect of the server run.
///
/// in:     on_partial - called after each list from half of them on; may be empty
/// errors: usage as expand_request; unavailable never: engines that fail are named in the answer
Result<SearchAnswer> search(const Snapshot& snapshot, const SearchRequest& request, const Clock& clock,
                            const PartialAnswer& on_partial = {});

/// The same for expanded queries that are known already.
///
/// in: queries - those of expand_request() for this snapshot and request
SearchAnswer search_expanded(const Snapshot& snapshot, const SearchRequest& request,
                             const std::vector<ExpandedQuery>& queries, const Clock& clock,
                             const PartialAnswer& on_partial = {});

/// The answer of one more window: request.windows is one more than `so_far` has.
SearchAnswer search_further(const Snapshot& snapshot, const SearchRequest& request,
                            const std::vector<ExpandedQuery>& queries, const Clock& clock,
                            const SearchAnswer& so_far);

}  // namespace metafuse::service
