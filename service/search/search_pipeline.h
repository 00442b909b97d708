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

/// A request that is ready to be sent. What it refers to must outlive it.
struct PreparedSearch {
  const Snapshot& snapshot;
  const LoadedDomain& domain;  ///< of the snapshot, or a form of it that is being edited
  SearchRequest request;
  std::vector<ExpandedQuery> queries;
  TimePoint end;  ///< of its time, for all windows together: what it asks for, else the configuration's
};

/// errors: those of expand_request()
Result<PreparedSearch> prepare_search(const Snapshot& snapshot, const LoadedDomain& domain,
                                      SearchRequest request, const Clock& clock);

/// Expands, fetches and fuses: what `metafuse search` and every dialect of the server run.
///
/// in:     on_partial - called after each list from half of them on; may be empty
/// errors: those of named_domain() and expand_request(); an engine that fails is named in the answer
Result<SearchAnswer> search(const Snapshot& snapshot, const SearchRequest& request, const Clock& clock,
                            const PartialAnswer& on_partial = {});

/// The same for a request that is prepared.
SearchAnswer search_prepared(const PreparedSearch& search, const Clock& clock,
                             const PartialAnswer& on_partial = {});

/// The answer of one more window than `so_far` has.
SearchAnswer search_further(const PreparedSearch& search, const Clock& clock, const SearchAnswer& so_far);

}  // namespace metafuse::service
