#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/input/row_part.h"

namespace metafuse::fusion {

/// Rows by query id, then by document, whatever order they were read in.
struct CanonicalOrder {
  std::vector<std::uint32_t> rows;  ///< counted over all parts
  std::vector<RowSegment> segments;
  std::vector<QueryRange> queries;
};

/// in:     parts - counted on from one to the next by `first`
/// out:    documents without id by their features, then grade
/// errors: bad_data when a document stands twice in a query (documents without id excepted)
/// cost:   O(blocks log blocks + documents), a comparison of whole rows only where ids do not decide
Result<CanonicalOrder> canonical_order(std::span<const RowPart> parts, bool is_absent_zero);

}  // namespace metafuse::fusion
