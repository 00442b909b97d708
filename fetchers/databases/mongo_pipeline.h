#pragma once

// The requests of engines of type `mongodb`: an aggregation pipeline with named values, whose documents
// become rows.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fetchers/databases/database.h"

namespace metafuse::fetchers {

/// errors: bad_config: not a list of stages; a stage that writes or runs JavaScript; neither {query}
///         nor {vector}
Result<void> check_pipeline(const Json& pipeline);

/// Replaces `{query}`, `{vector}`, `{limit}`, `{offset}` and `{end}` (offset + limit) in the pipeline's
/// texts. The query can only act as text: below `$regex` its special characters are escaped, and in an
/// expression, where `$name` would read a field, it is wrapped in `$literal`.
///
/// cost: O(size of the pipeline)
Json filled_pipeline(const Json& pipeline, const SqlWindow& window);

/// True if the pipeline itself skips the results before the window.
bool pipeline_skips(const Json& pipeline);

}  // namespace metafuse::fetchers
