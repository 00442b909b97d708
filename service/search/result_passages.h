#pragma once

#include <cstddef>
#include <span>

#include "core/deadline.h"
#include "service/search/answer_cache.h"
#include "service/search/search_answer.h"
#include "service/search/search_pipeline.h"
#include "service/search/shown_results.h"

namespace metafuse::service {

/// Replaces the snippets of some results by the passages that answer the query best, as far as the results
/// come from an index that keeps its documents' texts.
///
/// in:   positions - in answer.results
/// cost: reads the text of each of these results once
void set_passages(const Snapshot& snapshot, std::span<const std::size_t> positions, const Deadline& deadline,
                  SearchAnswer& answer);

/// The answer with passages for the results shown; for the first of them where the dialect chooses among all.
/// The same answer if its engines know no passages.
SharedAnswer with_passages(const PreparedSearch& search, SharedAnswer answer, const ShownResults& shown,
                           const Clock& clock);

}  // namespace metafuse::service
