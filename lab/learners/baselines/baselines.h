#pragma once

// The baselines of Freund et al. 2003: weighted sums of features, and AdaBoost's ordering.

#include <cstddef>
#include <vector>

#include "core/result.h"
#include "fusion/data/thresholds.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/common/learner.h"
#include "fusion/model/linear_ranker.h"
#include "fusion/model/weak_ranking.h"
#include "lab/learners/common/fusion_names.h"

namespace metafuse::lab::baselines {

/// The algorithms with which Freund et al. 2003 compare RankBoost (sec. 6.2.3), and those they propose (sec.
/// 6.2.6). All refuse a set without crucial pairs (bad_data).

struct NeighbourOptions {
  std::size_t k = 1;  ///< number of nearest features that are averaged
  /// The default is the feature's mean, else the one with the least ranking loss.
  bool is_mean_default = false;
};

/// The feature, or the k features, with the least ranking loss, eq. (21), under D. Unranked documents of a
/// feature get the value of the rating scale that minimises the loss; a feature that ranks every document of
/// the feedback gets its mean rating as default.
///
/// The rating scale holds the values of all features if these have at most 100 together, else the feature's
/// own values. A value below the lowest is tried as well.
/// cost: O(features * (rows of pairs + documents + scale) * log documents)
Result<LinearRanker> nearest_neighbour(const TrainingSet& set, const NeighbourOptions& options);

struct RegressionOptions {
  bool is_normalised = false;  ///< scales all features and the grades to mean 0 and variance 1 (sec. 6.2.6)
};

/// The shortest w that minimises |w C - a|. C holds the features of the documents in feedback, where unranked
/// documents have the feature's mean over all documents, and a holds their grades.
///
/// errors: bad_data for a value beyond 1e100
/// cost:   O(documents * features * min(documents, features)), with a dense copy of the features; for more
///         than 20,000 documents via the eigenvalues of C C', which are cut off at 1e-10 of the largest
Result<LinearRanker> regression(const TrainingSet& set, const RegressionOptions& options);

/// The single feature with the least ranking loss, with unranked documents below all others (as sec. 6.1.2
/// treats templates).
Result<LinearRanker> best_feature(const TrainingSet& set);

/// The baselines of Freund et al. 2003, sec. 6.2.3 and 6.2.6, as learners. One of them, random-guessing, ties
/// all documents, which has the expected loss of random guessing.
std::vector<Learner> learners();

/// AdaBoost on "relevant against the rest", over the weak rankings of RankBoost with a learned q_default.
/// Documents are ordered by the weight of the classification. Freund et al. 2003, sec. 7, suggest comparing
/// RankBoost's ordering with this one. At first every document of the feedback has the same weight, whatever
/// its query.
///
/// in:     level - the lowest relevant grade
/// out:    weak rankings whose sum orders as the classifier does; none if all judged documents have
///         one class
/// cost:   O(rounds x documents x features)
/// source: Freund, Schapire 1997; the smoothing of alpha is RankBoost's
std::vector<WeakRanking> adaboost_ordering(const TrainingSet& set, double level, std::size_t rounds,
                                           const ThresholdOptions& thresholds = {});

/// The learner adaboost-ordering.
Learner adaboost_ordering_learner();

}  // namespace metafuse::lab::baselines
