#pragma once

// The interface of all learners: what a learner is given, what it returns, and what the table of learners
// says about it.

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

/// One option of a learner, as the command line and the documentation show it.
struct LearnerOption {
  std::string name;      ///< without dashes: "rounds"
  std::string values;    ///< "N", "2|3|2.cum|3.cum"
  std::string fallback;  ///< the default, as the user would type it
  std::string meaning;
};

/// The input of a learner.
struct TrainingRequest {
  const TrainingSet* train = nullptr;
  const TrainingSet* validate = nullptr;       ///< optional
  std::map<std::string, std::string> options;  ///< by name; absent ones have their defaults
  std::uint64_t seed = 1;
  unsigned threads = 1;
  ProgressReport progress;
  bool wants_trace = true;               ///< false: the learner may skip what only the trace needs
  std::size_t trace_every = 1;           ///< only every n-th round is traced
  std::size_t first_feature_number = 0;  ///< of the first feature in the trace: 0 for runs, 1 for LETOR
  const Model* resume = nullptr;         ///< a model to continue learning from; only if can_resume

  /// The processes that hold the other queries; only if can_distribute. Null: this process holds all queries.
  Communicator* communicator = nullptr;

  // Early stopping, time limit and checkpoints; only for learners that support them.
  ScoreMeasure measure;             ///< measures scores of `validate`
  std::string measure_name;         ///< name of `measure`
  bool is_measure_cost = false;     ///< `measure` is a negated cost; reports negate it again
  std::size_t patience = 0;         ///< training ends after this many rounds without improvement; 0: never
  const Clock* clock = nullptr;     ///< required with time_limit_seconds
  double time_limit_seconds = 0.0;  ///< 0: none
  std::string checkpoint;           ///< file written every checkpoint_every rounds; empty: none
  std::size_t checkpoint_every = 0;
  std::string resume_checkpoint;  ///< file to continue from; empty: none
};

/// A value of the request's measure as reports show it: a cost is not negated.
inline double reported_value(const TrainingRequest& request, double value) {
  return request.is_measure_cost ? -value : value;
}

/// The output of a learner: the model, one JSON object per round for --trace, and a summary for people.
struct TrainingResult {
  Model model;
  std::vector<JsonObject> trace;
  std::string summary;
};

/// One row of the table of learners (fusion/training/registry.h). It holds everything that `train`,
/// `crossvalidate`, `experiment`, model files and --help need to know about a learner.
struct Learner {
  std::string name;
  std::string meaning;
  std::string source;
  std::vector<LearnerOption> options;
  std::function<Result<TrainingResult>(const TrainingRequest&)> train;
  ReadRanker read;
  bool takes_query_weights = true;  ///< false: all pairs weigh the same, whatever --query-weights says
  bool can_resume = false;          ///< whether TrainingRequest::resume may be set
  bool can_validate = false;        ///< whether TrainingRequest::validate has an effect
  bool can_stop_early = false;      ///< whether it uses measure and patience
  bool can_distribute = false;      ///< whether TrainingRequest::communicator may be set
  bool can_checkpoint = false;      ///< whether it uses checkpoint and resume_checkpoint
  bool can_limit_time = false;      ///< whether it respects the time limit
  /// Bytes of memory that training takes per document if columns lie in a file; absent: the learner needs
  /// columns in memory.
  std::optional<std::size_t> bytes_per_document = std::nullopt;
  bool chooses_by_measure = false;  ///< whether it reads measure_name, even without validation data
};

}  // namespace metafuse::fusion
