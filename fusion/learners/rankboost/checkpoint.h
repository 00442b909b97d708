#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/learners/common/learner.h"
#include "fusion/learners/rankboost/trainer.h"

namespace metafuse::fusion::rankboost {

/// The checkpoints of a training run. The file is
/// {"format":"metafuse-checkpoint","version":2,"learner":"rankboost","options":{...},
///  "data":{part: digest...},"rounds":[[feature, threshold, q_default, alpha, r, right, wrong]...]}
/// Thresholds are numbered as in Candidate. The distribution is not stored, since repeating the same rounds
/// reproduces it bit for bit. The options do not include the number of rounds, so that a run can be continued
/// beyond its original number.
class Checkpoints {
 public:
  /// The request and the options must outlive this object.
  Checkpoints(const TrainingRequest& request, const Options& options)
      : request_(request), options_(options) {}

  /// The rounds of the checkpoint that the request resumes from, without their totals; none if it does not.
  /// errors: no_input; bad_data when the file is no checkpoint, is damaged, is of a later version, or belongs
  ///         to another run, with the options or the parts of the data that differ
  Result<std::vector<Round>> resumed_rounds();

  /// Writes the request's checkpoint if it is due after these rounds.
  Result<void> save_if_due(std::span<const Round> rounds);

 private:
  const JsonObject& identity();

  const TrainingRequest& request_;
  const Options& options_;
  std::optional<JsonObject> identity_;  // "options" and "data" of the file
};

/// The thresholds that the user gave, by feature, as checkpoints and models have them.
JsonObject given_thresholds_json(const Options& options);

}  // namespace metafuse::fusion::rankboost
