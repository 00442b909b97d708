#pragma once

// The ensemble of calibrated classifiers (Busa-Fekete et al. 2011, sec. 4 and 5): runs for several settings,
// their calibrations, and the choice of members and weights on validation data.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fusion/learners/adaboost_mh/boost.h"
#include "fusion/learners/adaboost_mh/calibration.h"
#include "fusion/learners/adaboost_mh/training_data.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion::adaboost_mh {

/// One calibrated classifier in an ensemble.
struct Member {
  std::size_t source = 0;  ///< index of the classifier
  Calibration calibration;
  double quality = 0.0;  ///< omega: NDCG@10 on validation data
  double weight = 0.0;   ///< exp(c omega), divided by the sum over members
};

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

/// The calibrated score of every document.
std::vector<double> calibrated_scores(const Calibration& calibration, std::span<const double> votes,
                                      std::size_t width, std::span<const double> gains);

/// A classifier that votes: an AdaBoost.MH classifier, or another learner's ranker, whose score counts as its
/// only vote.
struct Source {
  std::string name;  ///< "tree 20", "product 4", or the learner's name
  StrongClassifier classifier;
  SharedRanker ranker;  ///< for another learner; else empty
  /// The ranker's lowest and highest score on the training documents, which map to -1 and 1.
  double low = 0.0;
  double high = 1.0;

  bool is_other() const { return ranker != nullptr; }
  std::size_t width() const { return is_other() ? 1 : classifier.classes; }
};

/// The source's votes after each number of rounds, documents x width. For another learner they are the same
/// each time.
std::vector<std::vector<double>> votes_of(const Source& source, const FeatureMatrix& documents,
                                          const CodedRows& rows, std::span<const std::size_t> counts);

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

}  // namespace metafuse::fusion::adaboost_mh
