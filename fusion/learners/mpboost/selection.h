#pragma once

#include <cstddef>
#include <vector>

#include "core/result.h"
#include "fusion/learners/mpboost/boost.h"

namespace metafuse::fusion::mpboost {

/// A run cut at the round that did best on validation data.
struct Selection {
  BoostRun run;
  double parameter = 1.0;
  double validation_ndcg = 0.0;  ///< NDCG@5
};

/// Trains once for each parameter and keeps the parameter and the number of rounds of the highest NDCG@5 on
/// `validate` (Zhu et al. 2009, sec. 5.2); ties go to the earlier parameter and the fewer rounds.
///
/// errors: those of boost_stumps
/// cost:   parameters * training
Result<Selection> select_on_validation(const TrainingSet& train, const TrainingSet& validate,
                                       const BoostOptions& options, const std::vector<double>& parameters);

}  // namespace metafuse::fusion::mpboost
