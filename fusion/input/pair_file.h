#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/input/training_input.h"

namespace metafuse::fusion {

/// The queries that a file of weighted pairs names, ascending.
Result<std::vector<std::string>> queries_of_pairs(const std::string& path);

/// Adds the pairs of a file, `qid document_below document_above weight` a line, to a training set.
///
/// in:     communicator - the ranks that hold the queries that this set does not, or null
/// errors: bad_data with file and line: an unknown query or document, a weight that is not positive
Result<void> read_pairs(const std::string& path, Communicator* communicator, TrainingSet& set);

/// Sets how much each query counts: `pairs`, `equal`, `documents` (as many as it has), or a file of `qid
/// weight` lines.
///
/// errors: bad_data: a bad line, a query that stands twice or not at all
Result<void> apply_query_weights(const std::string& choice, TrainingSet& set);

}  // namespace metafuse::fusion
