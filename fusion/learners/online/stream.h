#pragma once

#include <optional>
#include <span>
#include <string>

#include "fusion/learners/online/learner.h"

namespace metafuse::fusion::online {

/// One feature of a streamed document, given by number; `index` counts from 1 as in LETOR files.
struct StreamCell {
  std::uint32_t index = 0;
  bool is_unranked = false;
  double value = 0.0;
};

/// The prediction for a document, made before learning from its grade.
struct StreamPrediction {
  double grade = 0.0;  ///< predicted; one of the model's grades
  double score = 0.0;
  double rank_loss = 0.0;  ///< |predicted rank - rank|
};

/// An online learner that is fed one document at a time: predict, then update. A document that causes an
/// error changes nothing.
class DocumentStream {
 public:
  /// Starts a new stream, whose features are those of the first document. Requires settings.grades.
  /// errors: usage
  static Result<DocumentStream> start(const LearnerSettings& settings);
  /// Continues from a saved model.
  /// errors: usage if the model is not of an online learner
  static Result<DocumentStream> resume(const Model& model);

  /// errors: bad_data: a grade that the model does not have, a feature beyond the model's, a value that would
  ///         drive the weights out of the range of a double
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
