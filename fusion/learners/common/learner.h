#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
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
  std::size_t trace_every = 1;           ///< of what rounds the trace tells: every so many
  std::size_t first_feature_number = 0;  ///< what the trace calls the first feature: 0 for runs, 1 for LETOR
  const Model* resume = nullptr;         ///< a model to go on learning from; only for learners that can

  /// The processes that hold the other queries; only for learners that can. Null: this process holds all.
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

/// What a learner returns: the model, one JSON object per round for --trace, and a summary for people.
struct TrainingResult {
  Model model;
  std::vector<JsonObject> trace;
  std::string summary;
};

/// A row of the table of learners (fusion/training/registry.h): everything that `train`, `crossvalidate`,
/// `experiment`, model files and --help know of one.
struct Learner {
  std::string name;
  std::string meaning;
  std::string source;
  std::vector<LearnerOption> options;
  std::function<Result<TrainingResult>(const TrainingRequest&)> train;
  ReadRanker read;
  bool takes_query_weights = true;  ///< false: every pair weighs the same, whatever --query-weights says
  bool can_resume = false;          ///< whether TrainingRequest::resume may be set
  bool can_validate = false;        ///< whether it does something with TrainingRequest::validate
  bool can_stop_early = false;      ///< whether it knows measure and patience
  bool can_distribute = false;      ///< whether TrainingRequest::communicator may be set
  bool can_checkpoint = false;      ///< whether it knows checkpoints and resume_checkpoint
  bool can_limit_time = false;      ///< whether it knows the time limit
  /// Memory that training takes per document where columns lie in a file; nothing: it needs them in memory.
  std::optional<std::size_t> bytes_per_document = std::nullopt;
  bool chooses_by_measure = false;  ///< whether it reads measure_name, with validation data or without
};

}  // namespace metafuse::fusion
