#pragma once

// The learners adaboost-mh and calibrated-adaboost, and the rankers that they train.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/learners/adaboost_mh/ensemble.h"
#include "fusion/learners/adaboost_mh/strong_classifier.h"
#include "fusion/learners/common/learner.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion::adaboost_mh {

/// Plain AdaBoost.MH (Busa-Fekete et al. 2011, sec. 4): a single setting; documents are ordered by the Bayes
/// score, eq. (2), of the posterior of eq. (3).
Learner learner();

/// The ensemble of calibrated classifiers with exponential weights (sec. 4 and 5).
///
/// in: others - the learners that --others may name; no ensemble among them, so that models are not
///     nested endlessly
Learner ensemble_learner(std::vector<Learner> others);

/// AdaBoost.MH as a ranker: scores are Bayes scores, eq. (2), of the posterior of eq. (3). Body:
/// {"grades","cuts","rounds"}.
class MhRanker final : public Ranker {
 public:
  MhRanker(GradedCuts graded, StrongClassifier classifier)
      : graded_(std::move(graded)), classifier_(std::move(classifier)) {}

  const GradedCuts& graded() const { return graded_; }
  const StrongClassifier& classifier() const { return classifier_; }

  std::vector<double> score(const FeatureMatrix& documents) const override;
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  GradedCuts graded_;
  StrongClassifier classifier_;
};

/// The gain of each grade: 2^grade - 1, at least 0.
std::vector<double> gains_of(const std::vector<double>& grades);

/// The Bayes scores of documents by the posterior of eq. (3).
std::vector<double> posterior_scores(std::span<const double> votes, std::span<const double> gains);

/// errors: bad_data, naming the field
Result<SharedRanker> read_ranker(const JsonObject& body, const std::vector<Feature>& features);

/// A calibrated ensemble as a ranker: scores are the weighted mean of its members' scores, eq. (6), in about
/// [0, 1]. Body:
/// {"grades","cuts","sources":[{"name","rounds"} or {"name","body","low","high"}...],
/// "members":[{"source","weight","quality","calibration",...}...]}
class EnsembleRanker final : public Ranker {
 public:
  EnsembleRanker(GradedCuts graded, std::vector<Source> sources, std::vector<Member> members)
      : graded_(std::move(graded)),
        gains_(gains_of(graded_.grades)),
        sources_(std::move(sources)),
        members_(std::move(members)) {}

  const std::vector<Member>& members() const { return members_; }

  std::vector<double> score(const FeatureMatrix& documents) const override;
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  GradedCuts graded_;
  std::vector<double> gains_;
  std::vector<Source> sources_;
  std::vector<Member> members_;
};

/// The learner of that name; nullptr if there is none.
const Learner* find_other(std::span<const Learner> others, std::string_view name);

/// in:     others - the learners that may be members
/// errors: bad_data, naming the field; those of the nested learners
Result<SharedRanker> read_ensemble(const JsonObject& body, const std::vector<Feature>& features,
                                   std::span<const Learner> others);

}  // namespace metafuse::fusion::adaboost_mh
