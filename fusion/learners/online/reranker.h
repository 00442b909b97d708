#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fusion/learners/online/online_model.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion::online {

struct RerankerOptions {
  int levels = 2;  ///< of feedback: 1 passed over ... levels chosen, or the grades of judgments
  std::size_t rankers = 100;
  double tau = 0.3;
  double prior = 1.0;  ///< weight of the base model's score before any feedback, above 0
  std::uint64_t seed = 1;
};

/// What a person said of one document of a search.
struct RerankerFeedback {
  std::size_t document = 0;  ///< row of the search's matrix
  int level = 1;             ///< 1 ... levels
};

/// An OAP-BPM over a trained model's features, that learns from the feedback on served searches.
///
/// Its inputs are what each feature contributed to the model's score and the score itself, divided by the
/// search's largest absolute score. Before any feedback it orders documents as the model does. A value: a
/// copy may score on other threads while one owner learns; no call may run beside learn() on the same object.
class Reranker {
 public:
  /// errors: usage, naming the option that is out of range
  static Result<Reranker> over(const Model& base, const RerankerOptions& options);
  /// Goes on from state().
  /// errors: bad_data: the state is damaged or of a model with other features
  static Result<Reranker> resume(const Model& base, const JsonObject& state);

  /// One score per document of one search, higher first. Requires the base model's features.
  std::vector<double> score(const FeatureMatrix& search) const;

  /// Learns from one search, in the order given.
  ///
  /// errors: bad_data: a document that the search does not have, a level beyond the options'; nothing is
  ///         learned then
  Result<void> learn(const FeatureMatrix& search, std::span<const RerankerFeedback> feedback);

  /// Examples learned from so far.
  std::uint64_t steps() const { return model_.steps(); }
  JsonObject state() const { return model_.state(); }

 private:
  Reranker(std::shared_ptr<const Ranker> base, std::size_t features, OnlineModel model)
      : base_(std::move(base)), features_(features), model_(std::move(model)) {}
  std::vector<double> rows(const FeatureMatrix& search) const;

  std::shared_ptr<const Ranker> base_;
  std::size_t features_ = 0;
  OnlineModel model_;
};

}  // namespace metafuse::fusion::online
