#pragma once

#include <cstddef>
#include <vector>

#include "fusion/data/training_set.h"
#include "fusion/learners/common/learner.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion::baselines {

/// AdaBoost on "relevant against the rest" over the weak rankings of RankBoost with a learned q_default: the
/// classification weight orders documents. What Freund et al. 2003, sec. 7, would compare RankBoost's
/// ordering with. Every document weighs the same at first, whatever query it is of.
///
/// in:     level - the lowest relevant grade
/// out:    weak rankings with the weights that order as the classifier does; none when all documents are of
///         one class
/// cost:   O(rounds x documents x features)
/// source: Freund, Schapire 1997; the smoothing of alpha is RankBoost's
std::vector<WeakRanking> adaboost_ordering(const TrainingSet& set, double level, std::size_t rounds);

/// The row of the table of learners.
Learner adaboost_ordering_learner();

}  // namespace metafuse::fusion::baselines
