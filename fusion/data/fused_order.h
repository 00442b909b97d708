#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/text_list.h"
#include "fusion/data/feature_matrix.h"

namespace metafuse::fusion {

/// The fused ranking of one base query: rows [begin, end) of the matrix, best first. Higher scores come
/// first; equal scores are ordered by more ranked features, then the better best rank (rank features only),
/// then id ascending bytewise, then row.
///
/// in:     scores - one a row of the range; ids - one a row of the whole matrix
/// cost:   O(rows x features + rows log rows)
std::vector<std::size_t> fused_order(const FeatureMatrix& matrix, std::size_t begin, std::size_t end,
                                     std::span<const double> scores, const TextList& ids);

}  // namespace metafuse::fusion
