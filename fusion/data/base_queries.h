#pragma once

// Which queries of a training set are searches of the same base query, and folds that keep them together: a
// model that has seen one of them has seen what the others teach.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"

namespace metafuse::fusion {

/// How a store's sets name the queries of clicks: "clicked DIGEST#SEARCH".
inline constexpr std::string_view kClickedRow = "clicked ";
/// How they name judged queries: "judged DIGEST".
inline constexpr std::string_view kJudgedRow = "judged ";

/// The name of the base query of a set's query.
std::string_view base_query_of(std::string_view id);

/// The names of the base queries with a marked query, ascending.
///
/// in:  is_marked - one per query
/// out: views into the set's ids
std::vector<std::string_view> base_queries(const TrainingSet& set, const std::vector<bool>& is_marked);

/// The fold of each query; all searches of a base query have the same one. Base queries with a marked query
/// are spread evenly over the folds; the queries of all others are in none and have the number `folds`.
///
/// in:     is_marked - one per query
/// errors: those of evaluation::random_folds(), of base queries
Result<std::vector<std::size_t>> folds_of_base_queries(const TrainingSet& set,
                                                       const std::vector<bool>& is_marked, std::size_t folds,
                                                       std::uint64_t seed);

/// The positions of the queries outside of a fold.
std::vector<std::size_t> outside_fold(const std::vector<std::size_t>& fold_of, std::size_t fold);

}  // namespace metafuse::fusion
