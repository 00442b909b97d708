#include "fusion/learners/mpboost/learner.h"

#include <cmath>
#include <sstream>

#include "fusion/learners/common/option_reader.h"
#include "fusion/learners/common/step_result.h"
#include "fusion/learners/mpboost/boost.h"
#include "fusion/learners/mpboost/selection.h"

namespace metafuse::fusion::mpboost {
namespace {

struct Options {
  BoostOptions boost;
  std::vector<double> parameters;  ///< tried on validation data
};

Result<Options> read_options(const TrainingRequest& request) {
  constexpr Distance kDistances[] = {Distance::logitdd, Distance::logdd, Distance::ldd, Distance::binary};
  OptionReader reader(request.options);
  Options options;
  options.boost.distance = kDistances[reader.choice("distance", {"logitdd", "logdd", "ldd", "binary"})];
  const double parameter = default_parameter(options.boost.distance);
  options.boost.parameter = reader.number("parameter", parameter, 1e-6, 1e6);
  options.parameters = reader.has("parameter") ? std::vector<double>{options.boost.parameter}
                                               : parameter_grid(options.boost.distance);
  options.boost.rounds = reader.count("rounds", 200, 1, 1000000);
  if (reader.text("max-thresholds") != "all" && reader.has("max-thresholds"))
    options.boost.max_thresholds = reader.count("max-thresholds", 255, 1, 1000000000);
  options.boost.memory_mb = reader.count("memory", 1024, 16, 1 << 20);
  options.boost.threads = request.threads;
  TRY_VOID(reader.outcome());
  return options;
}

void add_to_trace_line(const BoostRound& round, JsonObject& line) {
  line["z"] = round.z;
  line["bound"] = round.loss;
  line["loss"] = round.loss;
  line["misordered"] = round.misordered;
  line["ranking_loss"] = round.ranking_loss;
}

std::string summarise(const Options& options, const BoostRun& run) {
  std::ostringstream text;
  text << "MPBoost, " << distance_name(options.boost.distance);
  if (options.boost.distance != Distance::binary) text << " parameter " << options.boost.parameter;
  text << ": " << run.rounds.size() << " rounds over " << run.pair_count << " crucial pairs"
       << (run.is_by_pairs ? ", one by one" : "") << "; " << run.stop_reason << "\n";
  text << "mean |dist| " << run.mean_distance;
  if (std::abs(run.mean_distance - 1.0) > 0.5) text << " (far from 1: a round's Z may exceed 1)";
  if (!run.rounds.empty())
    text << "; loss and bound " << run.rounds.back().loss << ", misordered " << run.rounds.back().misordered
         << ", ranking loss " << run.rounds.back().ranking_loss;
  text << "\n";
  return text.str();
}

JsonObject training_record(const Options& options, const BoostRun& run) {
  JsonObject record;
  record["distance"] = std::string(distance_name(options.boost.distance));
  record["parameter"] = options.boost.parameter;
  record["rounds"] = run.rounds.size();
  record["crucial_pairs"] = run.pair_count;
  record["mean_distance"] = run.mean_distance;
  record["stopped"] = run.stop_reason;
  if (!run.rounds.empty()) {
    record["loss"] = run.rounds.back().loss;
    record["misordered"] = run.rounds.back().misordered;
    record["ranking_loss"] = run.rounds.back().ranking_loss;
  }
  return record;
}

Result<BoostRun> run_training(const TrainingRequest& request, Options& options, JsonObject& chosen) {
  if (request.validate != nullptr) {
    TRY(auto selection,
        select_on_validation(*request.train, *request.validate, options.boost, options.parameters));
    options.boost.parameter = selection.parameter;
    chosen["validation_ndcg_5"] = selection.validation_ndcg;
    return std::move(selection.run);
  }
  std::size_t done = 0;
  return boost_stumps(*request.train, options.boost, [&](const BoostRound&) {
    if (request.progress) request.progress(++done, options.boost.rounds);
    return true;
  });
}

Result<TrainingResult> train(const TrainingRequest& request) {
  TRY(auto options, read_options(request));
  JsonObject chosen;
  TRY(const auto run, run_training(request, options, chosen));
  if (request.progress) request.progress(options.boost.rounds, options.boost.rounds);
  std::vector<WeakRanking> rankings;
  for (const BoostRound& round : run.rounds) rankings.push_back(round.weak_ranking);
  JsonObject record = training_record(options, run);
  for (const auto& field : chosen) record[field.key()] = field.value();
  TrainingResult result =
      step_result("mpboost", request, rankings, std::move(record), summarise(options, run));
  if (!request.wants_trace) return result;
  const StepTrace trace(request);
  for (std::size_t t = 0; t < run.rounds.size(); ++t) {
    result.trace.push_back(trace.line(t + 1, rankings[t]));
    add_to_trace_line(run.rounds[t], result.trace.back());
  }
  return result;
}

}  // namespace

Learner learner() {
  Learner row;
  row.name = "mpboost";
  row.meaning = "boosting that keeps how far apart two grades are";
  row.source = "Zhu, Chen, Zhu, Wang, Wang, Chen 2009";
  row.options = {
      {"distance", "logitdd|logdd|ldd|binary", "logitdd",
       "directed distance of two grades, eqs. (2), (6)-(8)"},
      {"parameter", "X", "0.5, 3, 0.2",
       "beta, lambda or alpha of it; chosen from a grid when there is validation data"},
      {"rounds", "N", "200", "rounds of boosting; the best number up to it when there is validation data"},
      {"max-thresholds", "N|all", "all", "thresholds a feature"},
      {"memory", "MB", "1024", "refuses real-valued grades whose pairs need more"},
  };
  row.train = train;
  row.can_validate = true;
  row.read = read_step_ranker;
  return row;
}

}  // namespace metafuse::fusion::mpboost
