#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fusion/data/thresholds.h"
#include "fusion/learners/rankboost/distribution.h"
#include "fusion/learners/rankboost/weak_learner_2.h"
#include "fusion/learners/rankboost/weak_learner_3.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion::rankboost {

/// The alpha >= 0 that minimises Z for arbitrary scores. Z = sum of D(x0, x1) exp(alpha (H(x0) - H(x1))) is
/// convex, so the zero of its slope is found by bisection.
///
/// in:     scores - one per row; most - the largest alpha
/// cost:   32 times O(documents + general pairs)
double alpha_of_scores(const Feedback& feedback, std::span<const double> scores, double most);

/// One round of boosting.
struct Round {
  Candidate candidate;
  double alpha = 0.0;
  double z = 0.0;
  double log_bound = 0.0;  ///< log of the product of all z so far: theorem 1
};

/// The weak ranking of a round as a model stores it.
WeakRanking weak_ranking_of(const Round& round, const CodedFeatures& features, FeatureKind kind);

/// RankBoost, round by round (Freund et al. 2003, fig. 1).
class Trainer {
 public:
  /// The prior, too, must outlive the trainer.
  /// in: prior - H_0, one score per document to which the rounds are added; the first distribution is then
  ///     D_1 ~ D exp(H_0(below) - H_0(above)); empty: none
  explicit Trainer(const Problem& problem, std::span<const double> prior = {});

  /// Runs the next round. Returns nothing if training has ended; stop_reason() then says why.
  std::optional<Round> step();
  /// Adds a round chosen earlier, as read from a checkpoint.
  /// out: the round with its original numbers; its z is 0 if the alpha leaves no pair any weight, and the
  ///      trainer may not be used then
  Round add(const Candidate& candidate, double alpha);

  const std::string& stop_reason() const { return stop_reason_; }
  /// H of every row of the training matrix: the prior plus the step tables, summed in feature order.
  std::vector<double> scores() const;

 private:
  Round take(const Candidate& candidate, double alpha);
  bool is_perfect(const Candidate& candidate) const;
  double alpha_of(const Candidate& candidate) const;
  std::vector<double> table_by_code(std::size_t feature) const;

  Problem problem_;
  std::span<const double> prior_;
  Distribution distribution_;
  std::optional<WeakLearner3> weak_learner_3_;  // if weak learner 3 is used
  std::optional<WeakLearner2> weak_learner_2_;  // if weak learner 2 is used
  CumulativeWeights weights_;
  double log_bound_ = 0.0;
  double alphas_since_anchor_ = 0.0;
  std::size_t rounds_since_anchor_ = 0;
  std::string stop_reason_;
};

}  // namespace metafuse::fusion::rankboost
