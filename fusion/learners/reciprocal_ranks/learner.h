#pragma once

#include <cstddef>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/learners/common/learner.h"
#include "fusion/model/sum_ranker.h"

namespace metafuse::fusion::reciprocal_ranks {

/// The sum over all documents of the squared difference between a score and the mean score of its query. Used
/// to bring scores of different origin to the same scale.
/// in: scores - one per document of the set
double squares_within_queries(const TrainingSet& set, const std::vector<double>& scores);

/// Multiplies the scores of a fusion by a factor.
void scale(FusedPart& fused, double factor);

/// The ranker that is this fusion alone.
SumRanker fused_ranker(FusedPart fused, const std::vector<Feature>& features);

/// What the learner reciprocal-ranks has learned, and what its model records of the training.
struct FusedTraining {
  FusedPart fused;
  std::size_t rounds = 0;  ///< learned here, not elsewhere
  JsonObject record;
};
Result<FusedTraining> train_fused(const TrainingRequest& request);

/// The learner reciprocal-ranks. It needs no judgments unless it learns weights.
Learner learner();

/// The learner rankboost-blend: a fusion to fall back on, thresholded features and scaled features, added up.
Learner blend_learner();

}  // namespace metafuse::fusion::reciprocal_ranks
