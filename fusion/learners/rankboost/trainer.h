#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fusion/data/thresholds.h"
#include "fusion/learners/rankboost/distribution.h"
#include "fusion/learners/rankboost/options.h"
#include "fusion/learners/rankboost/weak_learner_2.h"
#include "fusion/learners/rankboost/weak_learner_3.h"

namespace metafuse::fusion::rankboost {

/// alpha by the edge, eq. (6).
/// in:     is_certain - every crucial pair lies on one side, so that alpha would be infinite: it is smoothed
///         with 1 / (2m); m - number of crucial pairs
double alpha_of_edge(double r, bool is_certain, std::uint64_t m);

/// alpha by the weights of rightly and wrongly ordered pairs, eq. (2); smoothed when one of them is 0.
double alpha_of_sides(double right, double wrong, std::uint64_t m);

/// The alpha that minimises Z, by search (sec. 3.2, first method).
/// out:    nothing when no pair lies on one of the sides: Z has no minimum then
std::optional<double> alpha_by_search(const Distribution& distribution, const CodedRanking& ranking);

/// The alpha >= 0 of least Z for scores of any size: Z = sum of D(x0, x1) exp(alpha (H(x0) - H(x1))) is
/// convex, so its slope is bisected.
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

/// RankBoost round by round (Freund et al. 2003, fig. 1).
class Trainer {
 public:
  /// The feedback, the features and the prior must outlive the trainer.
  /// in:     prior - H_0, a score per document that the rounds are added to: the first distribution is then
  ///         D_1 ~ D exp(H_0(below) - H_0(above)); empty: none
  Trainer(const Feedback& feedback, const CodedFeatures& features, const Options& options, unsigned threads,
          Communicator* communicator = nullptr, std::span<const double> prior = {});

  /// The next round, or nothing when training has ended; then stop_reason() says why.
  std::optional<Round> step();
  /// Takes a round that was chosen before, as a checkpoint tells it.
  /// out:    the round as it was
  Round replay(const Candidate& candidate, double alpha);

  const std::string& stop_reason() const { return stop_reason_; }
  /// H of every row of the training matrix: the prior and the sum of the step tables in feature order.
  std::vector<double> scores() const;
  /// A candidate on the training documents.
  CodedRanking ranking_of(const Candidate& candidate) const;

 private:
  Round take(const Candidate& candidate, double alpha);
  Round finish(const Candidate& candidate, double alpha);
  bool is_perfect(const Candidate& candidate) const;
  double alpha_of(const Candidate& candidate) const;
  std::vector<double> table_by_code(std::size_t feature) const;

  const Feedback* feedback_;
  const CodedFeatures* features_;
  const Options* options_;
  std::span<const double> prior_;
  Distribution distribution_;
  std::optional<WeakLearner3> weak_learner_3_;  // weak learner 3
  std::optional<WeakLearner2> weak_learner_2_;  // weak learner 2
  CumulativeWeights weights_;
  std::vector<std::uint8_t> is_in_use_;  // per feature: some round chose it
  double log_bound_ = 0.0;
  double alphas_since_anchor_ = 0.0;
  std::size_t rounds_since_anchor_ = 0;
  std::string stop_reason_;
};

}  // namespace metafuse::fusion::rankboost
