#pragma once

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

/// One run per setting, side by side on shared codes, each without the documents that its split leaves out.
/// Any number of threads gives the same runs. Requires a split per setting.
std::vector<BoostRun> boost_all(const Problem& problem, const std::vector<BaseSetting>& settings,
                                const std::vector<CalibrationSplit>& splits, std::size_t rounds,
                                unsigned threads, const std::function<void(std::size_t done)>& progress = {});

/// Every document's calibrated score.
std::vector<double> calibrated_scores(const Calibration& calibration, std::span<const double> votes,
                                      std::size_t width, std::span<const double> gains);

/// Something that votes: an AdaBoost.MH classifier, or another learner's ranker whose score counts as
/// one vote.
struct Source {
  std::string name;  ///< "tree 20", "product 4", or the learner's name
  StrongClassifier classifier;
  std::shared_ptr<const Ranker> ranker;  ///< of another learner; else empty
  double low = 0.0;                      ///< its lowest and highest score on the training documents,
  double high = 1.0;                     ///< which become -1 and 1

  bool is_other() const { return ranker != nullptr; }
  std::size_t width() const { return is_other() ? 1 : classifier.classes; }
};

/// The source's votes after each number of rounds (the same each time for another learner), documents
/// x width.
std::vector<std::vector<double>> votes_of(const Source& source, const FeatureMatrix& documents,
                                          const CodedRows& rows, std::span<const std::size_t> counts);

/// All calibrated members at one number of rounds.
struct Pool {
  std::size_t rounds = 0;
  std::vector<Member> members;
  std::vector<std::vector<double>> validation;  ///< scores, a list per member
  std::size_t constant = 0;                     ///< members that fell back to a constant
};

/// What a pool is fitted to and measured on; a source is calibrated on documents of its own.
struct PoolData {
  const std::vector<Source>* sources = nullptr;
  std::vector<Judged> calibration;                            ///< one per source
  std::vector<const std::vector<double>*> calibration_votes;  ///< one per source
  std::vector<const std::vector<double>*> validation_votes;   ///< one per source
  Judged validation;
};

/// cost:   sources x calibrations; any number of threads gives the same pool
Pool fit_pool(const PoolData& data, std::size_t rounds, const CalibrationOptions& options, unsigned threads);

/// Which members take part.
enum class PoolPart { sigmoids, regressions, all };

/// Their places in the pool.
std::vector<std::size_t> members_of(const Pool& pool, PoolPart part);

/// The members of the part with the best weights for them. Requires a member in the part.
struct Ensemble {
  std::size_t rounds = 0;
  double c = 0.0;
  double quality = 0.0;              ///< NDCG@10 on validation
  std::vector<std::size_t> members;  ///< places in the pool
  std::vector<double> weights;
};
Ensemble choose_ensemble(const Pool& pool, PoolPart part, const Judged& validation);

}  // namespace metafuse::fusion::adaboost_mh
