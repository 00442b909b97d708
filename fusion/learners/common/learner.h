#pragma once

// The interface of all learners: what a learner is given, what it returns, and what the table of learners
// says about it.

#include <chrono>
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

struct Prior;

/// One option of a learner, as the command line and the documentation show it.
struct LearnerOption {
  std::string name;      ///< without dashes: "rounds"
  std::string values;    ///< "N", "2|3|2.cum|3.cum"
  std::string fallback;  ///< the default, as the user would type it
  std::string meaning;
};

/// How much of its rounds a learner traces.
struct TraceOptions {
  bool is_wanted = true;                 ///< false: the learner may skip what only the trace needs
  std::size_t every = 1;                 ///< only every n-th round is traced
  std::size_t first_feature_number = 0;  ///< of the first feature in the trace: 0 for runs, 1 for LETOR
};

struct TimeLimit {
  const Clock* clock = nullptr;  ///< required with seconds
  double seconds = 0.0;          ///< 0: none
};

/// Tells when a training has used up its time.
class Timer {
 public:
  explicit Timer(const TimeLimit& limit)
      : limit_(limit), begin_(limit.clock != nullptr ? limit.clock->now() : TimePoint()) {}

  bool is_over() const {
    return limit_.clock != nullptr && limit_.seconds > 0.0 &&
           std::chrono::duration<double>(limit_.clock->now() - begin_).count() >= limit_.seconds;
  }

 private:
  TimeLimit limit_;
  TimePoint begin_;
};

/// The files from which an interrupted training can be resumed.
struct CheckpointFiles {
  std::string file;       ///< written every so many rounds; empty: none
  std::size_t every = 0;  ///< rounds
  std::string resume;     ///< to continue from; empty: none
};

/// The input of a learner.
struct TrainingRequest {
  const TrainingSet* train = nullptr;
  const TrainingSet* validate = nullptr;       ///< optional
  std::map<std::string, std::string> options;  ///< by name; absent ones have their defaults
  std::uint64_t seed = 1;
  unsigned threads = 1;
  ProgressReport progress;
  TraceOptions trace;
  const Model* resume = nullptr;  ///< a model to continue learning from; only if the learner can.resume

  /// What other domains have learned, to start from; only if the learner can.start_from. Null: nothing.
  const Prior* prior = nullptr;

  /// The processes that hold the other queries; only if the learner can.distribute. Null: this process holds
  /// all queries.
  Communicator* communicator = nullptr;

  // Only for learners that can stop early, limit their time, or write checkpoints.
  ValidationMeasure measure;  ///< of scores of `validate`
  std::size_t patience = 0;   ///< training ends after this many rounds without improvement; 0: never
  TimeLimit limit;
  CheckpointFiles checkpoints;
};

struct TrainingResult;
/// Trains on the request's set; all else that differs from one training to another is in the request, too.
using TrainAgain = std::function<Result<TrainingResult>(const TrainingRequest&)>;

/// The output of a learner: the model, one JSON object per round for --trace, and a summary for people.
struct TrainingResult {
  Model model;
  std::vector<JsonObject> trace;
  std::string summary;
  /// Trains on other queries in the same way, without choosing again; empty: the learner itself does.
  TrainAgain again{};
};

/// What a learner can do beyond training on a set.
struct Abilities {
  bool start_from = false;  ///< whether TrainingRequest::prior may be set
  bool resume = false;      ///< whether TrainingRequest::resume may be set
  bool validate = false;    ///< whether TrainingRequest::validate has an effect
  bool stop_early = false;  ///< whether it uses measure and patience
  bool distribute = false;  ///< whether TrainingRequest::communicator may be set
  bool checkpoint = false;  ///< whether it uses checkpoints
  bool limit_time = false;  ///< whether it respects the time limit
};

/// One row of a table of learners (fusion/training/registry.h, lab/registry.h). It holds everything that
/// `train`, `crossvalidate`, `compare-methods` and --help need to know about a learner.
struct Learner {
  std::string name;
  std::string meaning;
  std::string source;
  std::vector<LearnerOption> options;
  TrainAgain train;
  bool takes_query_weights = true;  ///< false: all pairs weigh the same, whatever --query-weights says
  Abilities can = {};
  /// Bytes of memory that training takes per document if columns lie in a file; absent: the learner needs
  /// columns in memory.
  std::optional<std::size_t> bytes_per_document = std::nullopt;
  bool chooses_by_measure = false;  ///< whether it reads the measure's name, even without validation data
};

}  // namespace metafuse::fusion
