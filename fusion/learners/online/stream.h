#pragma once

#include <optional>
#include <span>
#include <string>

#include "fusion/learners/online/learner.h"

namespace metafuse::fusion::online {

/// One named feature of a streamed document; `index` counts from 1 as in LETOR files.
struct StreamCell {
  std::uint32_t index = 0;
  bool is_unranked = false;
  double value = 0.0;
};

/// What was said of a document before its grade was learned from.
struct StreamPrediction {
  double grade = 0.0;  ///< predicted, one of the model's grades
  double score = 0.0;
  double rank_loss = 0.0;  ///< |predicted rank - rank|
};

/// An online learner fed one document at a time: predict, then update. A failed document changes nothing.
class DocumentStream {
 public:
  /// A new stream; its features are those of the first document. `settings.grades` must be given.
  /// errors: usage
  static Result<DocumentStream> start(const LearnerSettings& settings);
  /// Goes on from a saved model.
  /// errors: usage when it is of no online learner
  static Result<DocumentStream> resume(const Model& model);

  /// errors: bad_data: a grade that is not among the model's, a feature beyond the model's, a value on which
  ///         the weights would leave the range of numbers
  Result<StreamPrediction> take(double grade, std::span<const StreamCell> cells);

  /// Whether values are ranks (1 is best), as in an aggregation file.
  bool are_ranks() const { return are_ranks_; }

  /// errors: bad_data before the first document
  Result<Model> model() const;

 private:
  Result<StreamPrediction> take_known(double grade, std::span<const StreamCell> cells);
  Result<std::vector<double>> row_of(std::span<const StreamCell> cells) const;

  LearnerSettings settings_;
  std::vector<Feature> features_;
  std::optional<OnlineInputs> inputs_;
  std::optional<OnlineModel> model_;
  bool is_absent_zero_ = true;
  bool are_ranks_ = false;
};

}  // namespace metafuse::fusion::online
