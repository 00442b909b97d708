#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fusion/model/model_file.h"
#include "fusion/model/online/online_model.h"

namespace metafuse::fusion::online {

struct RerankerOptions {
  int levels = 2;  ///< of feedback: from 1 (passed over) to `levels` (chosen), or the grades of judgments
  std::size_t rankers = 100;
  double tau = 0.3;
  double prior = 1.0;  ///< weight of the base model's score before any feedback, > 0
  std::uint64_t seed = 1;
};

/// A person's feedback on one document of a search.
struct RerankerFeedback {
  std::size_t document = 0;  ///< row of the search's matrix
  int level = 1;             ///< 1 ... levels
};

/// An OAP-BPM over a trained model's features that learns from feedback on served searches.
///
/// Its inputs are the contribution of each feature to the model's score, and the score itself, all divided by
/// the largest absolute score of the search. Before any feedback it orders documents as the model does. A
/// value type: copies may score on other threads while one owner learns, but no call may run during learn()
/// on the same object.
class Reranker {
 public:
  /// errors: usage, naming the option that is out of range
  static Result<Reranker> over(const Model& base, const RerankerOptions& options);
  /// Continues from the result of state().
  /// errors: bad_data: the state is damaged or belongs to a model with other features
  static Result<Reranker> resume(const Model& base, const JsonObject& state);

  /// One score per document of a search; higher is better. Requires the base model's features.
  std::vector<double> score(const FeatureMatrix& search) const;

  /// Learns from the feedback on one search, in the given order.
  ///
  /// errors: bad_data: an unknown document or a level out of range; nothing is learned then
  Result<void> learn(const FeatureMatrix& search, std::span<const RerankerFeedback> feedback);

  /// The number of examples learned from so far.
  std::uint64_t steps() const { return model_.steps(); }
  JsonObject state() const { return model_.state(); }

 private:
  Reranker(SharedRanker base, std::size_t features, OnlineModel model)
      : base_(std::move(base)), features_(features), model_(std::move(model)) {}
  std::vector<double> rows(const FeatureMatrix& search) const;

  SharedRanker base_;
  std::size_t features_ = 0;
  OnlineModel model_;
};

}  // namespace metafuse::fusion::online
