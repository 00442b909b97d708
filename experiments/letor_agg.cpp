#include "experiments/letor_agg.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include "core/atomic_file.h"
#include "core/json.h"
#include "evaluation/significance.h"
#include "experiments/round_curve.h"
#include "fusion/baseline.h"
#include "fusion/registry.h"
#include "fusion/training_input.h"

namespace metafuse::experiments {
namespace {

using fusion::FeedbackOptions;
using fusion::TrainingSet;

constexpr std::array kSets = {"MQ2008-agg", "MQ2007-agg"};
constexpr int kFolds = 5;
constexpr const char* kMeasures = "ndcg_burges_10,mean_ndcg_burges,map_all";
constexpr std::array kMeasureTitles = {"NDCG@10", "MeanNDCG", "MAP"};
constexpr std::size_t kMeasureCount = kMeasureTitles.size();

/// One way to train.
struct Configuration {
  std::string name;
  std::string learner;
  std::string query_weights;
  FeedbackOptions::GradeWeights grade_weights;
};

/// What was considered before any test part was read.
std::vector<Configuration> configurations() {
  using Grades = FeedbackOptions::GradeWeights;
  std::vector<Configuration> all;
  const auto add = [&](const std::string& learner, const std::string& queries, const std::string& name,
                       Grades grades) {
    all.push_back({learner + " " + queries + "/" + name, learner, queries, grades});
  };
  add("rankboost", "pairs", "one", Grades::one);
  add("rankboost", "pairs", "difference", Grades::difference);
  add("rankboost", "equal", "one", Grades::one);
  add("rankboost", "equal", "difference", Grades::difference);
  add("rankboost-bagged", "equal", "one", Grades::one);
  add("rankboost-bagged", "equal", "difference", Grades::difference);
  return all;
}

/// Numbers of rounds among which a fold's validation part chooses.
std::vector<int> round_choices(ExperimentOptions::Size size) {
  switch (size) {
    case ExperimentOptions::Size::quick:
      return {50};
    case ExperimentOptions::Size::normal:
      return {50, 100, 200};
    case ExperimentOptions::Size::full:
      break;
  }
  return {25, 50, 75, 100, 150, 200, 300};
}

struct Fold {
  std::string set;
  std::vector<std::string> train;
  std::string validate;
  std::string test;
};

Result<std::string> part_file(const std::string& data, const std::string& set, int part) {
  const std::string stem = data + "/letor4-agg/" + set + "/A" + std::to_string(part) + ".txt";
  for (const char* ending : {"", ".xz", ".gz", ".zst"})
    if (std::filesystem::exists(stem + ending)) return stem + ending;
  return fail(Code::no_input,
              stem +
                  ": no such file, nor packed as .xz, .gz or .zst; --data names the folder that "
                  "holds letor4-agg");
}

Result<std::vector<Fold>> official_folds(const std::string& data) {
  std::vector<Fold> folds;
  for (const char* set : kSets) {
    std::vector<std::string> parts;
    for (int part = 1; part <= kFolds; ++part) {
      auto file = part_file(data, set, part);
      if (!file) return file.error();
      parts.push_back(*file);
    }
    for (std::size_t first = 0; first < kFolds; ++first) {
      const auto part = [&](std::size_t i) { return parts[(first + i) % kFolds]; };
      folds.push_back({set, {part(0), part(1), part(2)}, part(3), part(4)});
    }
  }
  return folds;
}

Result<TrainingSet> read(const std::vector<std::string>& files, const Configuration& configuration,
                         const std::vector<fusion::Feature>& expected = {}) {
  fusion::TrainingInput input;
  input.letor_ranks = files;
  input.query_weights = configuration.query_weights;
  input.feedback.grade_weights = configuration.grade_weights;
  input.expected = expected;
  return fusion::read_training_set(input);
}

Result<fusion::Model> train(const TrainingSet& set, const Configuration& configuration, int rounds,
                            const ExperimentOptions& options) {
  fusion::TrainingRequest request;
  request.train = &set;
  request.seed = options.seed;
  request.threads = options.threads;
  request.wants_trace = false;
  request.options = {{"rounds", std::to_string(rounds)}, {"max-thresholds", "all"}};
  auto result = fusion::find_learner(configuration.learner)->train(request);
  if (!result) return result.error();
  return std::move(result->model);
}

std::vector<double> mean_of(const std::vector<std::vector<double>>& per_query) {
  std::vector<double> mean(kMeasureCount, 0.0);
  for (const auto& values : per_query)
    for (std::size_t m = 0; m < kMeasureCount; ++m)
      mean[m] += values[m] / static_cast<double>(per_query.size());
  return mean;
}

double criterion(const std::vector<double>& means) {
  return (means[0] + means[1] + means[2]) / 3.0;
}

/// A fold's model with the number of rounds that its validation part liked best.
struct Chosen {
  int rounds = 0;
  double validation = -1.0;
  std::optional<fusion::Model> model;
};

Result<Chosen> choose_rounds(const Fold& fold, const Configuration& configuration,
                             const evaluation::MeasureSet& measures, const ExperimentOptions& options) {
  auto set = read(fold.train, configuration);
  if (!set) return set.error();
  auto validation = read({fold.validate}, configuration, set->matrix.features());
  if (!validation) return validation.error();
  const RoundCurve curve(*validation, measures);
  Chosen chosen;
  for (const int rounds : round_choices(options.size)) {
    auto model = train(*set, configuration, rounds, options);
    if (!model) return model.error();
    const double value = criterion(mean_of(curve.per_query(model->ranker->score(validation->matrix))));
    if (value > chosen.validation) chosen = {rounds, value, std::move(*model)};
  }
  return chosen;
}

/// Values of one method on one set's test parts: queries x measures.
using Values = std::vector<std::vector<double>>;

struct Outcome {
  std::vector<std::string> methods;                   // the first is ours
  std::map<std::string, std::vector<Values>> by_set;  // a set: one Values a method
};

Result<void> test_fold(const Fold& fold, const Configuration& configuration, const Chosen& chosen,
                       const evaluation::MeasureSet& measures, Outcome& outcome) {
  auto test = read({fold.test}, configuration, chosen.model->features);
  if (!test) return test.error();
  const RoundCurve curve(*test, measures);
  std::vector<Values>& values = outcome.by_set[fold.set];
  values.resize(outcome.methods.size());
  const auto append = [&](std::size_t method, const std::vector<double>& scores) {
    for (auto& query : curve.per_query(scores)) values[method].push_back(std::move(query));
  };
  append(0, chosen.model->ranker->score(test->matrix));
  std::size_t method = 0;
  for (const fusion::Baseline& baseline : fusion::rank_baselines()) {
    std::vector<double> scores(test->grades.size());
    for (const fusion::QueryRange& query : test->queries) {
      const auto part = baseline.score(test->matrix, query.begin, query.end);
      std::copy(part.begin(), part.end(), scores.begin() + static_cast<std::ptrdiff_t>(query.begin));
    }
    append(++method, scores);
  }
  return {};
}

std::vector<double> column(const Values& values, std::size_t measure) {
  std::vector<double> out;
  for (const auto& query : values) out.push_back(query[measure]);
  return out;
}

template <class... Args>
std::string formatted(const char* format, Args... args) {
  char text[200];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

/// The mean of the five folds' test means, as the LETOR tools report it, needs each fold; parts are of nearly
/// equal size, so the mean over all queries is what is compared and printed.
void report_set(const std::string& set, const Outcome& outcome, std::uint64_t seed, std::string& text,
                JsonArray& json) {
  const std::vector<Values>& values = outcome.by_set.at(set);
  text += formatted("\n%s, %zu test queries\n%-34s", set.c_str(), values[0].size(), "");
  for (const char* title : kMeasureTitles) text += formatted("%10s", title);
  text += "   difference of MAP, 95 % interval, p (randomisation)\n";
  const std::vector<double> ours = column(values[0], kMeasureCount - 1);
  for (std::size_t method = 0; method < values.size(); ++method) {
    const std::vector<double> mean = mean_of(values[method]);
    text += formatted("%-34s%10.4f%10.4f%10.4f", outcome.methods[method].c_str(), mean[0], mean[1], mean[2]);
    JsonObject row{{"set", set}, {"method", outcome.methods[method]}};
    for (std::size_t m = 0; m < kMeasureCount; ++m) row[kMeasureTitles[m]] = mean[m];
    if (method > 0) {
      const std::vector<double> theirs = column(values[method], kMeasureCount - 1);
      std::vector<double> difference(ours.size());
      for (std::size_t q = 0; q < ours.size(); ++q) difference[q] = ours[q] - theirs[q];
      const auto interval = evaluation::bootstrap_interval(difference, 0.95, seed);
      const double p = evaluation::randomisation_test(ours, theirs, seed);
      const double gain = mean_of(values[0])[2] - mean[2];
      text += formatted("   %+.4f [%+.4f, %+.4f] %.5f", gain, interval.low, interval.high, p);
      row["difference"] = gain;
      row["interval"] = JsonArray{interval.low, interval.high};
      row["p"] = p;
    }
    text += '\n';
    json.push_back(std::move(row));
  }
}

}  // namespace

Result<std::string> run_letor_agg(const ExperimentOptions& options) {
  const auto folds = official_folds(options.data);
  if (!folds) return folds.error();
  const auto measures = evaluation::parse_measures(kMeasures);
  if (!measures) return measures.error();
  const std::vector<Configuration> all = configurations();
  std::string text = "Mean of the three measures on the validation parts of both sets\n";
  std::vector<Chosen> best;
  std::size_t best_configuration = 0;
  double best_mean = -1.0;
  for (std::size_t c = 0; c < all.size(); ++c) {
    std::vector<Chosen> chosen;
    double mean = 0.0;
    for (const Fold& fold : *folds) {
      auto one = choose_rounds(fold, all[c], *measures, options);
      if (!one) return one.error();
      mean += one->validation / static_cast<double>(folds->size());
      chosen.push_back(std::move(*one));
      if (options.progress) options.progress(c * folds->size() + chosen.size(), all.size() * folds->size());
    }
    text += formatted("  %-40s %.4f\n", all[c].name.c_str(), mean);
    if (mean > best_mean) {
      best_mean = mean;
      best_configuration = c;
      best = std::move(chosen);
    }
  }
  const Configuration& winner = all[best_configuration];
  text += "chosen: " + winner.name + "; rounds by fold:";
  for (const Chosen& fold : best) text += ' ' + std::to_string(fold.rounds);
  text += '\n';
  Outcome outcome;
  outcome.methods = {winner.name};
  for (const fusion::Baseline& baseline : fusion::rank_baselines()) outcome.methods.push_back(baseline.name);
  for (std::size_t f = 0; f < folds->size(); ++f)
    if (auto tested = test_fold((*folds)[f], winner, best[f], *measures, outcome); !tested)
      return tested.error();
  JsonArray json;
  for (const char* set : kSets) report_set(set, outcome, options.seed, text, json);
  if (!options.output.empty()) {
    if (auto written = write_file(options.output + "/letor-agg.txt", text); !written) return written.error();
    if (auto written = write_file(options.output + "/letor-agg.json", to_pretty_text(json)); !written)
      return written.error();
  }
  return text;
}

}  // namespace metafuse::experiments
