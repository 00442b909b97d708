// Is it worth choosing the query to judge next? On MQ2007-agg, five folds, each with four draws of the first
// queries: queries of four parts are judged in batches, chosen by choose_queries() or at random; a model
// trained on the judged queries orders the fifth part. Quick: one draw of one fold. Full: ten draws.
#include "fusion/training/query_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "evaluation/measures/measure.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/experiment.h"
#include "lab/experiments/judged_queries.h"
#include "lab/experiments/report.h"
#include "lab/experiments/trials.h"

namespace metafuse::lab::experiments {
namespace query_choice {
namespace {

constexpr std::array<std::size_t, 6> kSteps = {5, 10, 20, 40, 80, 160};
constexpr const char* kLearner = "rankboost-bagged";
constexpr double kGoal = 2.0 / 3.0;

struct Step {
  double random = 0;  ///< NDCG@10 on the test part
  double suggested = 0;
  double random_map = 0;
  double suggested_map = 0;
};
using Trial = std::array<Step, kSteps.size()>;

struct Parts {
  fusion::TrainingSet pool;  ///< the queries of four parts
  fusion::TrainingSet test;  ///< those of the fifth
};

/// One course of judging, from the first queries to the last step.
class Judging {
 public:
  Judging(const Parts& parts, const ExperimentOptions& options, Random random, bool is_random)
      : parts_(parts), options_(options), random_(random), is_random_(is_random) {}

  /// in:  first - the sorted queries that are judged before anything is chosen
  /// out: NDCG@10 and MAP at each step
  Result<std::vector<std::vector<double>>> run(std::vector<std::size_t> first,
                                               const evaluation::MeasureSet& measures) {
    judged_ = std::move(first);
    const QueryMeasures on_test(parts_.test, measures);
    std::vector<std::vector<double>> values;
    for (const std::size_t step : kSteps) {
      TRY_VOID(grow_to(step));
      const fusion::TrainingSet set = fusion::select_queries(parts_.pool, judged_);
      fusion::TrainingRequest request;
      request.seed = options_.seed;
      TRY(const auto model, train(kLearner, set, {}, request));
      values.push_back(on_test.means(model.ranker->score(parts_.test.matrix)));
    }
    return values;
  }

 private:
  Result<void> grow_to(std::size_t count) {
    if (judged_.size() >= count) return {};
    std::vector<std::size_t> rest;
    for (std::size_t query = 0; query < parts_.pool.queries.size(); ++query)
      if (!std::binary_search(judged_.begin(), judged_.end(), query)) rest.push_back(query);
    const std::size_t more = count - judged_.size();
    if (is_random_) {
      random_.shuffle(rest);
      judged_.insert(judged_.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(more));
    } else {
      const fusion::TrainingSet set = fusion::select_queries(parts_.pool, judged_);
      const fusion::TrainingSet waiting = fusion::select_queries(parts_.pool, rest);
      fusion::QueryChoiceOptions choice;
      choice.count = more;
      choice.seed = random_.next();
      TRY(const auto chosen, fusion::choose_queries(set, waiting, choice));
      for (const fusion::QueryChoice& one : chosen) judged_.push_back(rest[one.query]);
    }
    std::sort(judged_.begin(), judged_.end());
    return {};
  }

  const Parts& parts_;
  const ExperimentOptions& options_;
  Random random_;
  const bool is_random_;
  std::vector<std::size_t> judged_;
};

/// How many of the queries have documents of at least two different grades.
std::size_t telling(const fusion::TrainingSet& set, const std::vector<std::size_t>& queries) {
  return static_cast<std::size_t>(std::count_if(queries.begin(), queries.end(), [&](std::size_t query) {
    const fusion::QueryRange& range = set.queries[query];
    return is_mixed(std::span(set.grades).subspan(range.begin, range.end - range.begin));
  }));
}

/// Draws queries at random until at least two of them have different grades; otherwise no committee can
/// be trained.
std::vector<std::size_t> first_queries(const fusion::TrainingSet& pool, Random& random) {
  for (;;) {
    auto first = shuffled(pool.queries.size(), random);
    first.resize(kSteps.front());
    if (telling(pool, first) < 2) continue;
    std::sort(first.begin(), first.end());
    return first;
  }
}

Result<Trial> run_trial(const Parts& parts, const ExperimentOptions& options, std::uint64_t number) {
  Random random = Random(options.seed).split(number);
  const auto first = first_queries(parts.pool, random);
  TRY(const auto measures, evaluation::parse_measures("ndcg_cut_10,map"));
  TRY(const auto by_chance, Judging(parts, options, random.split(1), true).run(first, measures));
  TRY(const auto suggested, Judging(parts, options, random.split(2), false).run(first, measures));
  Trial trial{};
  for (std::size_t i = 0; i < trial.size(); ++i)
    trial[i] = {by_chance[i][0], suggested[i][0], by_chance[i][1], suggested[i][1]};
  return trial;
}

std::vector<double> column(const std::vector<Trial>& trials, std::size_t step, double Step::*value) {
  std::vector<double> out;
  for (const Trial& trial : trials) out.push_back(trial[step].*value);
  return out;
}

std::vector<double> differences(const std::vector<Trial>& trials, std::size_t step) {
  std::vector<double> out;
  for (const Trial& trial : trials) out.push_back(trial[step].suggested - trial[step].random);
  return out;
}

/// How many suggested queries are worth as much as `count` at random. The curve of the suggested ones is
/// interpolated linearly over the logarithm of the count; the result is where it first reaches `value`, or
/// nullopt if it does not by the last step.
std::optional<double> worth(const std::vector<double>& suggested, double value) {
  for (std::size_t i = 0; i < suggested.size(); ++i) {
    if (suggested[i] < value) continue;
    if (i == 0) return static_cast<double>(kSteps[0]);
    const double share = (value - suggested[i - 1]) / (suggested[i] - suggested[i - 1]);
    const double low = std::log(static_cast<double>(kSteps[i - 1]));
    return std::exp(low + share * (std::log(static_cast<double>(kSteps[i])) - low));
  }
  return std::nullopt;
}

/// The mean over the trials at each step.
std::vector<double> means_of_suggested(const std::vector<Trial>& trials) {
  std::vector<double> means;
  for (std::size_t i = 0; i < kSteps.size(); ++i)
    means.push_back(mean_of(column(trials, i, &Step::suggested)));
  return means;
}

std::string table_of(const std::vector<Trial>& trials) {
  Table table;
  table.add({"judged queries", "random NDCG@10", "suggested", "difference", "random MAP", "suggested MAP",
             "as good as random with"});
  const std::vector<double> suggested = means_of_suggested(trials);
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    const double by_chance = mean_of(column(trials, i, &Step::random));
    const auto count = worth(suggested, by_chance);
    table.add({std::to_string(kSteps[i]), fixed(by_chance, 4), fixed(suggested[i], 4),
               to_text(interval_of(differences(trials, i)), 4),
               fixed(mean_of(column(trials, i, &Step::random_map)), 4),
               fixed(mean_of(column(trials, i, &Step::suggested_map)), 4),
               i == 0 ? "-"
               : count
                   ? fmt::format("{:.0f} ({:.0f} %)", *count, 100 * *count / static_cast<double>(kSteps[i]))
                   : std::string("more")});
  }
  return table.text();
}

/// Whether the goal (equally good with two thirds of the queries) is reached at every step from 20 on.
std::string finding(const std::vector<Trial>& trials) {
  const std::vector<double> suggested = means_of_suggested(trials);
  std::size_t reached = 0;
  std::size_t asked = 0;
  for (std::size_t i = 2; i < kSteps.size(); ++i, ++asked) {
    const auto count = worth(suggested, mean_of(column(trials, i, &Step::random)));
    reached += count && *count <= kGoal * static_cast<double>(kSteps[i]) ? 1 : 0;
  }
  return fmt::format("as good as random with two thirds of the judged queries at {} of {} steps from {} on\n",
                     reached, asked, kSteps[2]);
}

Json json_of(const std::vector<Trial>& trials) {
  JsonArray steps;
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    const Interval difference = interval_of(differences(trials, i));
    steps.push_back(JsonObject{{"queries", kSteps[i]},
                               {"random", json_array(column(trials, i, &Step::random))},
                               {"suggested", json_array(column(trials, i, &Step::suggested))},
                               {"difference", difference.mean},
                               {"half_width", difference.half_width}});
  }
  return steps;
}

}  // namespace
}  // namespace query_choice

Result<std::string> run_query_choice(const ExperimentOptions& options) {
  using namespace query_choice;
  const std::size_t draws = options.is_quick() ? 1 : options.is_full() ? 10 : 4;
  const std::size_t folds = options.is_quick() ? 1 : kFifths;
  TRY(const auto queries, read_aggregation(options.data, "MQ2007-agg"));
  std::vector<Trial> trials;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    const auto [pool, test] = divided(queries.part_of, fold);
    const Parts parts{fusion::select_queries(queries.set, pool), fusion::select_queries(queries.set, test)};
    TRY(const auto here, run_all(draws, options.threads, {}, [&](std::size_t draw) {
          return run_trial(parts, options, fold * 100 + draw);
        }));
    trials.insert(trials.end(), here.begin(), here.end());
    if (options.progress) options.progress(fold + 1, folds);
  }
  if (!options.output.empty())
    TRY_VOID(write_file(options.output + "/query-choice.json", to_pretty_text(json_of(trials))));
  return fmt::format(
      "MQ2007-agg, {} folds x {} draws of the first {} queries; {} of the judged queries, NDCG@10 of the "
      "test part\n\n"
      "{}\n{}",
      folds, draws, kSteps.front(), kLearner, table_of(trials), finding(trials));
}

}  // namespace metafuse::lab::experiments
