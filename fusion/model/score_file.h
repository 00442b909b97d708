#pragma once

#include <string>

#include "core/result.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion {

/// The model's score of every row of a LETOR file: one per line in the file's order, 17 significant digits.
///
/// in:     are_ranks - an aggregation file (values are ranks), else values
/// errors: those of the reader; bad_data when the file names a feature beyond the model's, or holds values
///         where the model was trained on ranks or the other way round
/// cost:   O(cells + rows x features), one block of rows in memory
Result<std::string> score_letor_file(const Model& model, const std::string& path, bool are_ranks);

}  // namespace metafuse::fusion
