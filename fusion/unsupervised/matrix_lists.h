#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "fusion/cross_validation.h"
#include "fusion/unsupervised/fusion_method.h"

namespace metafuse::fusion {

/// The lists behind rows [begin, end) of a matrix: one a rank feature, its documents by their rank. Ranks of
/// a list that were cut out close up. Document i is row begin + i; an entry's score is 1 / rank.
///
/// in:     ids - one a row of the whole matrix
QueryLists lists_of_rows(const FeatureMatrix& matrix, std::size_t begin, std::size_t end,
                         std::span<const std::string> ids);

/// A method that needs no training as a row of a cross-validation table. Methods that use scores get ranks as
/// scores (normalised by rank), since a matrix has no others.
Baseline baseline_of(const FusionMethod& method);

}  // namespace metafuse::fusion
