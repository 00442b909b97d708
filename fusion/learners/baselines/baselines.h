#pragma once

#include <cstddef>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/baselines/linear_ranker.h"

namespace metafuse::fusion::baselines {

/// A feature seen as a viewer's ratings (Freund et al. 2003, sec. 6.2.1), over every document of the set, in
/// feedback or not.
struct Viewer {
  std::size_t rated = 0;
  double mean = 0.0;       ///< 0 when nothing is rated
  double deviation = 0.0;  ///< standard deviation; 0 when all ratings are equal
  double lowest = 0.0;
  std::vector<double> values;  ///< distinct, ascending
};

std::vector<Viewer> viewers_of(const FeatureMatrix& matrix);

/// The rating scale R: the distinct values of all features together when there are at most `most`,
/// else empty.
std::vector<double> shared_scale(const std::vector<Viewer>& viewers, std::size_t most);

/// The algorithms that Freund et al. 2003 compare RankBoost with (sec. 6.2.3), and those they propose (sec.
/// 6.2.6). All refuse a set without crucial pairs (bad_data).

struct NeighbourOptions {
  std::size_t k = 1;             ///< nearest features averaged
  bool is_mean_default = false;  ///< the default is the feature's mean, else the one of least ranking loss
};

/// The feature, or the k, of least ranking loss [21] under D. Its unranked documents get the value of the
/// rating scale that makes the loss least, or its mean rating where it ranks every document of the feedback.
///
/// The rating scale is the values of all features while they have at most 100 together, else the feature's
/// own; a value below the lowest is tried as well.
/// cost:   O(features * scale * pairs)
Result<LinearRanker> nearest_neighbour(const TrainingSet& set, const NeighbourOptions& options);

struct RegressionOptions {
  bool is_normalised = false;  ///< every feature and the grades get mean 0 and variance 1 first (sec. 6.2.6)
};

/// The shortest w that makes |w C - a| least, where C holds the features of the documents in feedback,
/// unranked ones with the feature's mean over all documents, and a their grades.
///
/// cost:   O(documents * features^2); beyond 20,000 documents by the eigenvalues of C C', cut at 1e-10 of
///         the largest
Result<LinearRanker> regression(const TrainingSet& set, const RegressionOptions& options);

/// VSIM: grades predicted as their mean plus the features' deviations from their means, weighted by the
/// cosines of the ratings. A rank counts as the rating D + 1 - rank, D being how deep its list counts, or the
/// deepest rank there is: the paper's ratings are above 0, and cosines of minus ranks would be negative. A
/// feature without a common document has weight 0; all weights 0 leave every
/// document tied.
///
/// source: Breese, Heckerman, Kadie 1998, by Freund et al. 2003, sec. 6.2.3
Result<LinearRanker> vector_similarity(const TrainingSet& set);

/// The single feature of least ranking loss, unranked documents below all others (as sec. 6.1.2
/// sees templates).
Result<LinearRanker> best_feature(const TrainingSet& set);

/// Every document tied: what random guessing comes to in expectation.
LinearRanker random_guessing(const TrainingSet& set);

}  // namespace metafuse::fusion::baselines
