#pragma once

#include <string>

#include "core/result.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion {

/// Scores every row of a LETOR file: one score per line, in the file's order, with 17 significant digits.
///
/// in:     are_ranks - whether it is an aggregation file, whose values are ranks
/// errors: those of the reader; bad_data if the file names a feature that the model does not have, or holds
///         values for a model of ranks or the other way round
/// cost:   O(cells + rows x features) time; memory for one block of rows
Result<std::string> score_letor_file(const Model& model, const std::string& path, bool are_ranks);

}  // namespace metafuse::fusion
