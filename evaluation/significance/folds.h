#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace metafuse::evaluation {

/// A fold (0 .. count - 1) for every query.
struct Folds {
  std::size_t count = 0;
  std::vector<std::size_t> fold_of;  ///< a query each, in the order of the queries given
};

/// Splits queries at random into `count` parts whose sizes differ by at most one. Depends on the set of ids
/// and the seed alone, not on their order.
///
/// errors: usage when there are fewer than two folds or fewer queries than folds
Result<Folds> random_folds(std::span<const std::string_view> queries, std::size_t count, std::uint64_t seed);

/// Reads `query fold` lines (fold from 1 on).
///
/// errors: bad_data with file and line: wrong columns, a fold that is no whole number from 1 to 1000, a query
///         twice, a query of the input that the file lacks, fewer than two folds
Result<Folds> read_folds(const std::string& path, std::span<const std::string_view> queries);

}  // namespace metafuse::evaluation
