#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "fusion/learners/adaboost_mh/boost.h"
#include "fusion/learners/adaboost_mh/calibration.h"
#include "fusion/learners/adaboost_mh/calibration_split.h"

namespace metafuse::fusion::adaboost_mh {

/// One calibrated classifier in an ensemble.
struct Member {
  std::size_t source = 0;  ///< which classifier
  Calibration calibration;
  double quality = 0.0;  ///< omega: NDCG@10 on validation
  double weight = 0.0;   ///< exp(c omega), over the members' sum
};

/// Classes of documents with their queries, for measuring.
struct Judged {
  std::span<const int> classes;
  std::span<const double> gains;
  std::span<const RowRange> queries;
};

/// Mean NDCG@10 by [1]: gain 2^grade - 1, discount 1 / log(1 + position), equal scores in input order; a
/// query without gain counts 0.
double ndcg_10(std::span<const double> scores, const Judged& judged);

/// exp(c omega) over the sum, for each omega.
std::vector<double> exponential_weights(std::span<const double> qualities, double c);

/// Sum of weights times scores. Requires score lists of one length.
std::vector<double> weighted_scores(std::span<const std::vector<double>* const> scores,
                                    std::span<const double> weights);

/// The c of 0, 10, 20, ..., 200 whose ensemble has the best NDCG@10; the least of equal ones.
struct ChosenWeights {
  double c = 0.0;
  double quality = 0.0;
  std::vector<double> weights;
};
ChosenWeights choose_weights(std::span<const std::vector<double>* const> scores,
                             std::span<const double> qualities, const Judged& judged);

/// The settings of the paper: trees of 5, 10, ..., 45 leaves and products of 2 to 10 terms.
std::vector<BaseSetting> all_settings();

/// One run a setting, side by side on shared codes, each without the documents that its split leaves out. Any
/// number of threads gives the same runs. Requires a split a setting.
std::vector<BoostRun> boost_all(const Problem& problem, const std::vector<BaseSetting>& settings,
                                const std::vector<CalibrationSplit>& splits, std::size_t rounds,
                                unsigned threads, const std::function<void(std::size_t done)>& progress = {});

/// Every document's calibrated score.
std::vector<double> calibrated_scores(const Calibration& calibration, std::span<const double> votes,
                                      std::size_t width, std::span<const double> gains);

}  // namespace metafuse::fusion::adaboost_mh
