#pragma once

// What an engine of type `mongodb` asks: an aggregation pipeline with named values, and documents as rows.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fetchers/databases/sql_rows.h"

namespace metafuse::fetchers {

/// errors: bad_config: no list of stages; a stage that writes or runs JavaScript; neither {query} nor
///         {vector}
Result<void> check_pipeline(const Json& pipeline);

/// The pipeline with `{query}`, `{vector}`, `{limit}`, `{offset}` and `{end}` (offset + limit) filled in
/// where they stand in texts. The query becomes nothing but text: below `$regex` its signs lose their
/// meaning, and in an expression, where `$name` would read a field, it stands in a `$literal`.
///
/// cost: O(size of the pipeline)
Json filled_pipeline(const Json& pipeline, const SqlWindow& window);

/// True where the pipeline itself leaves out what stands before the window.
bool pipeline_skips(const Json& pipeline);

}  // namespace metafuse::fetchers
