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

/// alpha from the edge, eq. (6).
/// in: is_certain - all crucial pairs lie on one side, where alpha would be infinite: it is smoothed with 1 /
///     (2m); m - number of crucial pairs
double alpha_of_edge(double r, bool is_certain, std::uint64_t m);

/// alpha from the weights of correctly and incorrectly ordered pairs, eq. (2); smoothed if one of them is 0.
double alpha_of_sides(double right, double wrong, std::uint64_t m);

/// Searches for the alpha that minimises Z (sec. 3.2, first method).
/// out: nothing if one side has no pair, because Z then has no minimum
std::optional<double> alpha_by_search(const Distribution& distribution, const CodedRanking& ranking);

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

/// RankBoost, round by round (Freund et al. 2003, fig. 1).
class Trainer {
 public:
  /// The feedback, the features and the prior must outlive the trainer.
  /// in: prior - H_0, one score per document to which the rounds are added; the first distribution is then
  ///     D_1 ~ D exp(H_0(below) - H_0(above)); empty: none
  Trainer(const Feedback& feedback, const CodedFeatures& features, const Options& options, unsigned threads,
          Communicator* communicator = nullptr, std::span<const double> prior = {});

  /// Runs the next round. Returns nothing if training has ended; stop_reason() then says why.
  std::optional<Round> step();
  /// Repeats a round chosen earlier, as read from a checkpoint.
  /// out: the round with its original numbers
  Round replay(const Candidate& candidate, double alpha);

  const std::string& stop_reason() const { return stop_reason_; }
  /// H of every row of the training matrix: the prior plus the step tables, summed in feature order.
  std::vector<double> scores() const;
  /// A candidate as a weak ranking on the training documents.
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
  std::optional<WeakLearner3> weak_learner_3_;  // if weak learner 3 is used
  std::optional<WeakLearner2> weak_learner_2_;  // if weak learner 2 is used
  CumulativeWeights weights_;
  std::vector<std::uint8_t> is_in_use_;  // by feature: whether any round chose it
  double log_bound_ = 0.0;
  double alphas_since_anchor_ = 0.0;
  std::size_t rounds_since_anchor_ = 0;
  std::string stop_reason_;
};

}  // namespace metafuse::fusion::rankboost
