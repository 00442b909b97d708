#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fusion/learners/adaboost_mh/ensemble.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion::adaboost_mh {

/// Something that votes: an AdaBoost.MH classifier, or another learner's ranker whose score counts as one
/// vote.
struct Source {
  std::string name;  ///< "tree 20", "product 4", or the learner's name
  StrongClassifier classifier;
  std::shared_ptr<const Ranker> ranker;  ///< of another learner; else empty
  double low = 0.0;                      ///< its lowest and highest score on the training documents,
  double high = 1.0;                     ///< which become -1 and 1

  bool is_other() const { return ranker != nullptr; }
  std::size_t width() const { return is_other() ? 1 : classifier.classes; }
};

/// The source's votes after each number of rounds (the same each time for another learner), documents x
/// width.
std::vector<std::vector<double>> votes_of(const Source& source, const FeatureMatrix& documents,
                                          const CodedRows& rows, std::span<const std::size_t> counts);

/// All calibrated members at one number of rounds.
struct Pool {
  std::size_t rounds = 0;
  std::vector<Member> members;
  std::vector<std::vector<double>> validation;  ///< scores, a list a member
  std::size_t constant = 0;                     ///< members that fell back to a constant
};

/// What a pool is fitted to and measured on; a source is calibrated on documents of its own.
struct PoolData {
  const std::vector<Source>* sources = nullptr;
  std::vector<Judged> calibration;                            ///< one a source
  std::vector<const std::vector<double>*> calibration_votes;  ///< one a source
  std::vector<const std::vector<double>*> validation_votes;   ///< one a source
  Judged validation;
};

/// cost: sources x calibrations; any number of threads gives the same pool
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
