#pragma once

// Models that vote for grades, as AdaBoost.MH learns them, and weighted means of calibrated models.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/model/model_file.h"
#include "fusion/model/votes/calibration.h"
#include "fusion/model/votes/strong_classifier.h"

namespace metafuse::fusion::votes {

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
Result<MhRanker> read_ranker(const JsonObject& body, const std::vector<Feature>& features);

/// One calibrated classifier in an ensemble.
struct Member {
  std::size_t source = 0;  ///< index of the classifier
  Calibration calibration;
  double quality = 0.0;  ///< omega: NDCG@10 on validation data
  double weight = 0.0;   ///< exp(c omega), divided by the sum over members
};

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

/// in:     read_other - reads the body of a member that is not of AdaBoost.MH
/// errors: bad_data, naming the field; those of read_other
Result<SharedRanker> read_ensemble(const JsonObject& body, const std::vector<Feature>& features,
                                   const ReadRanker& read_other);

}  // namespace metafuse::fusion::votes
