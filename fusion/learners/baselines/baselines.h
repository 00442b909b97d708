#pragma once

#include <cstddef>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/baselines/linear_ranker.h"

namespace metafuse::fusion::baselines {

/// A feature seen as a viewer's ratings (Freund et al. 2003, sec. 6.2.1), over all documents of the set, in
/// feedback or not.
struct Viewer {
  std::size_t rated = 0;
  double mean = 0.0;       ///< 0 if nothing is rated
  double deviation = 0.0;  ///< standard deviation; 0 if all ratings are equal
  double lowest = 0.0;
  std::vector<double> values;  ///< distinct, ascending
};

std::vector<Viewer> viewers_of(const FeatureMatrix& matrix);

/// The rating scale R: the distinct values of all features together if there are at most `most`, else empty.
std::vector<double> shared_scale(const std::vector<Viewer>& viewers, std::size_t most);

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
/// cost: O(features * scale * pairs)
Result<LinearRanker> nearest_neighbour(const TrainingSet& set, const NeighbourOptions& options);

struct RegressionOptions {
  bool is_normalised = false;  ///< scales all features and the grades to mean 0 and variance 1 (sec. 6.2.6)
};

/// The shortest w that minimises |w C - a|. C holds the features of the documents in feedback, where unranked
/// documents have the feature's mean over all documents, and a holds their grades.
///
/// cost: O(documents * features^2); for more than 20,000 documents via the eigenvalues of C C', cut off at
///       1e-10 of the largest
Result<LinearRanker> regression(const TrainingSet& set, const RegressionOptions& options);

/// VSIM: predicts a grade as the mean grade plus the deviations of the features from their means, weighted by
/// the cosines between the ratings and the grades. A rank counts as the rating D + 1 - rank, where D is the
/// depth of its list or, without one, the deepest rank that occurs; the paper's ratings are positive, and
/// cosines of negated ranks would be negative. A feature that has no document in common with the grades has
/// weight 0. If all weights are 0, all documents tie.
///
/// source: Breese, Heckerman, Kadie 1998, by Freund et al. 2003, sec. 6.2.3
Result<LinearRanker> vector_similarity(const TrainingSet& set);

/// The single feature with the least ranking loss, with unranked documents below all others (as sec. 6.1.2
/// treats templates).
Result<LinearRanker> best_feature(const TrainingSet& set);

/// All documents tie, which has the expected loss of random guessing.
LinearRanker random_guessing(const TrainingSet& set);

}  // namespace metafuse::fusion::baselines
