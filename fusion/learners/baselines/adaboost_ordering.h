#pragma once

#include <cstddef>
#include <vector>

#include "fusion/data/training_set.h"
#include "fusion/learners/common/learner.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion::baselines {

/// AdaBoost on "relevant against the rest", over the weak rankings of RankBoost with a learned q_default.
/// Documents are ordered by the weight of the classification. Freund et al. 2003, sec. 7, suggest comparing
/// RankBoost's ordering with this one. At first every document has the same weight, whatever its query.
///
/// in:     level - the lowest relevant grade
/// out:    weak rankings whose sum orders as the classifier does; none if all documents are of one class
/// cost:   O(rounds x documents x features)
/// source: Freund, Schapire 1997; the smoothing of alpha is RankBoost's
std::vector<WeakRanking> adaboost_ordering(const TrainingSet& set, double level, std::size_t rounds);

/// The learner adaboost-ordering.
Learner adaboost_ordering_learner();

}  // namespace metafuse::fusion::baselines
