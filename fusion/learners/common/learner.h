#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
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
#include "fusion/model/weak_ranking.h"

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
  bool can_checkpoint = false;      ///< whether it knows time limit, checkpoints and resume_checkpoint
};

/// Reads a learner's options from their text. The first mistake is kept; ask for it once, when all are read.
class OptionReader {
 public:
  explicit OptionReader(const std::map<std::string, std::string>& options) : options_(options) {}

  /// A whole number in [least, most]; `fallback` when the option is absent or wrong.
  std::size_t count(std::string_view name, std::size_t fallback, std::size_t least, std::size_t most);
  /// A finite number in [least, most].
  double number(std::string_view name, double fallback, double least, double most);
  /// The place of the option's value among `choices`; an absent option is the first.
  std::size_t choice(std::string_view name, const std::vector<std::string_view>& choices);
  bool has(std::string_view name) const { return options_.contains(std::string(name)); }
  /// The text as given, or empty.
  std::string text(std::string_view name) const;

  /// errors: usage, naming the option, what it may be, and what was given
  Result<void> outcome() const { return outcome_; }

 private:
  void refuse(std::string_view name, const std::string& given, const std::string& wanted);

  const std::map<std::string, std::string>& options_;
  Result<void> outcome_;
};

/// What trace lines say of the weak rankings of one training.
class StepTrace {
 public:
  /// cost: O(documents x rank features). The request must outlive this.
  explicit StepTrace(const TrainingRequest& request);

  /// "round", "feature", "threshold" or "rank", "q_default" (0 or 1) and "alpha"; minus infinity is null, and
  /// of a rank feature the deepest rank seen in training.
  JsonObject line(std::size_t round, const WeakRanking& ranking) const;

 private:
  const TrainingRequest& request_;
  std::vector<double> deepest_;  // of each rank feature
};

/// The result of a learner whose model is a StepRanker; without a trace.
TrainingResult step_result(std::string learner, const TrainingRequest& request,
                           std::vector<WeakRanking> rankings, JsonObject training, std::string summary);

/// Calls `train(bag)` once for every bag on the request's threads. Which thread trains what is not fixed: a
/// bag must be a function of its number alone. Progress is reported on the caller's thread.
void for_each_bag(const TrainingRequest& request, std::size_t bags,
                  const std::function<void(std::size_t bag)>& train);

/// How many rounds of every bag make the best mean on validation data.
struct BestRounds {
  std::size_t rounds = 0;
  double value = 0.0;
};

/// A bag's first rounds are what it would have learned with fewer of them, so one training of each bag tells
/// every number of rounds. The first of equal values is kept; `patience` ends the search as it would end
/// training.
///
/// in:     request - with validation data and a measure; add_round - adds what one round of all bags, from 0
///         on, says of each validation document
BestRounds best_rounds_of_bags(
    const TrainingRequest& request, std::size_t most_rounds,
    const std::function<void(std::size_t round, std::vector<double>& scores)>& add_round);

/// Puts what validation chose into a model's record.
/// out:    the line about it for people
std::string record_best_rounds(const TrainingRequest& request, const BestRounds& best, JsonObject& training);

}  // namespace metafuse::fusion
