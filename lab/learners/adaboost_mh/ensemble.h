#pragma once

// The ensemble of calibrated classifiers (Busa-Fekete et al. 2011, sec. 4 and 5): runs for several settings,
// their calibrations, and the choice of members and weights on validation data.

#include <cstddef>
#include <span>
#include <vector>

#include "fusion/model/votes/vote_rankers.h"
#include "lab/learners/adaboost_mh/boost.h"
#include "lab/learners/adaboost_mh/calibration.h"
#include "lab/learners/adaboost_mh/training_data.h"

namespace metafuse::lab::adaboost_mh {

/// The classes, gains and queries of documents, to measure scores by.
struct Judged {
  std::span<const int> classes;
  std::span<const double> gains;
  std::span<const RowRange> queries;
};

/// Mean NDCG@10 by eq. (1): gain 2^grade - 1, discount 1 / log(1 + position), equal scores in input order.
/// A query without gain counts as 0.
double ndcg_10(std::span<const double> scores, const Judged& judged);

/// exp(c omega) for each omega, divided by their sum.
std::vector<double> exponential_weights(std::span<const double> qualities, double c);

/// The weighted sum of scores. Requires score lists of equal length.
std::vector<double> weighted_scores(std::span<const std::vector<double>* const> scores,
                                    std::span<const double> weights);

/// The settings of the paper: trees of 5, 10, ..., 45 leaves and products of 2 to 10 terms.
std::vector<BaseSetting> all_settings();

/// All calibrated members for one number of rounds.
struct Pool {
  std::vector<Member> members;
  std::vector<std::vector<double>> validation;  ///< scores, one list per member
  std::size_t constant = 0;                     ///< number of members that fell back to a constant
};

/// The votes of a source on the documents that it is calibrated on, and on those of the validation.
struct SourceVotes {
  std::size_t width = 0;  ///< votes per document
  Judged calibrated;
  const std::vector<double>* calibration = nullptr;
  const std::vector<double>* validation = nullptr;
};

/// Calibrates each source on documents of its own, and measures the members on the validation documents.
/// cost:   sources x calibrations; any number of threads gives the same pool
Pool fit_pool(std::span<const SourceVotes> sources, const Judged& validation,
              const CalibrationOptions& options, unsigned threads);

/// How the members of an ensemble are weighted.
struct ChosenWeights {
  double c = 0.0;
  double quality = -1.0;  ///< NDCG@10 on validation data
  std::vector<double> weights;
};

/// Weights the members by the c among 0, 10, 20, ..., 200 whose ensemble has the best NDCG@10; the smallest
/// in case of a tie. Requires a member.
ChosenWeights choose_weights(const Pool& pool, const Judged& validation);

}  // namespace metafuse::lab::adaboost_mh
