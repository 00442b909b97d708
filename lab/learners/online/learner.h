#pragma once

// The online learners of Harrington 2003, over a training set or fed one document at a time.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fusion/learners/common/learner.h"
#include "fusion/model/online/online_model.h"
#include "fusion/model/online/online_ranker.h"
#include "lab/learners/common/fusion_names.h"

namespace metafuse::lab::online {

/// The settings of an online learner that users can change.
struct LearnerSettings {
  OnlineOptions model;
  std::size_t passes = 1;
  bool is_scaled = true;
  std::vector<double> grades;  ///< --grades; empty: those of the training documents
};

/// errors: usage, naming the option
Result<LearnerSettings> read_settings(OnlineMethod method, const std::map<std::string, std::string>& options,
                                      std::uint64_t seed);

/// The six online learners: prank, prank-vp, widrow-hoff, oap-bpm, oap-bagg, oap-vp (Harrington 2003).
std::vector<Learner> learners();

/// A ranker for these features that has not learned anything yet.
Result<OnlineRanker> fresh_ranker(const LearnerSettings& settings, std::vector<InputScale> scales,
                                  std::vector<double> grades);

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

}  // namespace metafuse::lab::online
