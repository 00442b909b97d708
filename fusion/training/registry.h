#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/json.h"
#include "core/progress.h"
#include "core/result.h"
#include "fusion/data/communicator.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/common/validation.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion {

/// One option of a learner, as the command line and the docs print it.
struct LearnerOption {
  std::string name;      ///< without dashes: "rounds"
  std::string values;    ///< "N", "2|3|2.cum|3.cum"
  std::string fallback;  ///< the default, as it would be typed
  std::string meaning;
};

/// What a learner is given.
struct TrainingRequest {
  const TrainingSet* train = nullptr;
  const TrainingSet* validate = nullptr;       ///< optional
  std::map<std::string, std::string> options;  ///< by name; absent means the default
  std::uint64_t seed = 1;
  unsigned threads = 1;
  ProgressReport progress;
  bool wants_trace = true;               ///< false lets a learner skip what only the trace tells
  std::size_t first_feature_number = 0;  ///< what the trace calls the first feature: 0 for runs, 1 for LETOR
  const Model* resume = nullptr;         ///< a model to go on learning from; only for learners that can

  /// The ranks that hold the other queries; only for learners that can. Null: this process holds all.
  Communicator* communicator = nullptr;

  // Early stopping, time limit and checkpoints; only for learners that can.
  ScoreMeasure measure;             ///< of scores of `validate`
  std::string measure_name;         ///< its name
  bool is_measure_cost = false;     ///< its value is minus a cost, which reports turn around
  std::size_t patience = 0;         ///< rounds without a better value after which training ends; 0: never
  const Clock* clock = nullptr;     ///< with time_limit_seconds
  double time_limit_seconds = 0.0;  ///< 0: none
  std::string checkpoint;           ///< file to write every checkpoint_every rounds; empty: none
  std::size_t checkpoint_every = 0;
  std::string resume_checkpoint;  ///< file to go on from; empty: none
};

/// A value of the request's measure as reports say it.
inline double reported_value(const TrainingRequest& request, double value) {
  return request.is_measure_cost ? -value : value;
}

/// What a learner returns: the model, one JSON object a round for --trace, and a summary for people.
struct TrainingResult {
  Model model;
  std::vector<JsonObject> trace;
  std::string summary;
};

/// A row of the table of learners: everything `train`, `crossvalidate`, `experiment`, model files and --help
/// know.
struct Learner {
  std::string name;
  std::string meaning;
  std::string source;
  std::vector<LearnerOption> options;
  Result<TrainingResult> (*train)(const TrainingRequest&) = nullptr;
  /// Reads the "body" of a model file; errors name the field.
  Result<std::shared_ptr<const Ranker>> (*read)(const JsonObject& body,
                                                const std::vector<Feature>&) = nullptr;
  bool can_resume = false;      ///< whether TrainingRequest::resume may be set
  bool can_validate = false;    ///< whether it does something with TrainingRequest::validate
  bool can_stop_early = false;  ///< whether it knows measure and patience
  bool can_distribute = false;  ///< whether TrainingRequest::communicator may be set
  bool can_checkpoint = false;  ///< whether it knows time limit, checkpoints and resume_checkpoint
};

/// All learners, in the order of the docs.
std::span<const Learner> learners();

/// nullptr when there is none of that name.
const Learner* find_learner(std::string_view name);

}  // namespace metafuse::fusion
