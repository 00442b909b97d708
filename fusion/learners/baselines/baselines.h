#pragma once

// The baselines of Freund et al. 2003: weighted sums of features, AdaBoost's ordering, and VSIM as a feature.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/thresholds.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/common/learner.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion::baselines {

/// What one feature contributes: weight times its value, or times a default if the document is unranked.
struct LinearTerm {
  std::uint32_t feature = 0;
  double weight = 0.0;
  double unranked = 0.0;  ///< the default value of unranked documents

  friend bool operator==(const LinearTerm&, const LinearTerm&) = default;
};

/// A weighted sum of features, the form of all baselines of Freund et al. 2003, sec. 6.2.3.
///
/// Body: {"offset":x,"terms":[{"feature","weight","default"}...]}; "feature" is an index from 0.
class LinearRanker final : public Ranker {
 public:
  LinearRanker(double offset, std::vector<LinearTerm> terms, std::size_t feature_count)
      : offset_(offset), terms_(std::move(terms)), feature_count_(feature_count) {}

  double offset() const { return offset_; }
  const std::vector<LinearTerm>& terms() const { return terms_; }

  std::vector<double> score(const FeatureMatrix& documents) const override;
  /// Spreads the offset evenly over the features, so that the contributions sum to the score.
  std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const override;
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  double offset_;
  std::vector<LinearTerm> terms_;
  std::size_t feature_count_;
};

/// The `read` function of these learners.
/// errors: bad_data that names the field
Result<SharedRanker> read_linear_ranker(const JsonObject& body, const std::vector<Feature>& features);

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

/// The baselines of Freund et al. 2003, sec. 6.2.3 and 6.2.6, as learners. One of them, random-guessing, ties
/// all documents, which has the expected loss of random guessing.
std::vector<Learner> learners();

/// AdaBoost on "relevant against the rest", over the weak rankings of RankBoost with a learned q_default.
/// Documents are ordered by the weight of the classification. Freund et al. 2003, sec. 7, suggest comparing
/// RankBoost's ordering with this one. At first every document has the same weight, whatever its query.
///
/// in:     level - the lowest relevant grade
/// out:    weak rankings whose sum orders as the classifier does; none if all documents are of one class
/// cost:   O(rounds x documents x features)
/// source: Freund, Schapire 1997; the smoothing of alpha is RankBoost's
std::vector<WeakRanking> adaboost_ordering(const TrainingSet& set, double level, std::size_t rounds,
                                           const ThresholdOptions& thresholds = {});

/// The learner adaboost-ordering.
Learner adaboost_ordering_learner();

/// Wraps a learner so that it also accepts sets with the feature "derived:vsim": VSIM as one of the weak
/// rankings, as Freund et al. 2003 propose at the end of sec. 6.2.6. The feature's values depend on the
/// judgments. So they are computed when a model is trained, from its training documents alone: they are the
/// scores of vector_similarity() over the lists. The model stores the similarities beside its ranker and
/// computes the feature wherever it scores. For sets without this feature nothing changes.
///
/// Body: {"similarity":{...as vector-similarity's...},"ranker":{...as the learner's...}}
/// errors: those of vector_similarity; usage: queries spread over several processes
Learner with_similarity_feature(Learner learner);

}  // namespace metafuse::fusion::baselines
