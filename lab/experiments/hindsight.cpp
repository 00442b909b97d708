// What `auto` loses by having to choose: on every data set of docs/results.md, five-fold cross-validated by
// query, beside each learner that it chooses among; which of them is best is known only in hindsight. The
// demonstration takes part if options.data contains packages.txt. Quick: without the two large sets, one
// sample of the demonstration.
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/json.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/judged_queries.h"
#include "lab/experiments/report.h"
#include "lab/experiments/trials.h"

namespace metafuse::lab::experiments {
namespace hindsight {
namespace {

constexpr double kTolerance = 0.003;
constexpr std::size_t kManyLists = 30;  // above this, 2.cum and trees take 10 to 100 times RankBoost's time
constexpr std::uint64_t kSamples = 5;   // samples of the demonstration

struct Compared {
  std::string name;
  std::string learner;
  std::map<std::string, std::string> options;
  bool is_for_many = true;  ///< also run on data with many lists
};

/// The learners to compare; the last one is auto.
std::vector<Compared> compared_learners(bool are_many) {
  std::vector<Compared> out = {
      {"RRF", "reciprocal-ranks", {}},
      {"best list", "reciprocal-ranks", {{"weights", "best"}}},
      {"tuned weights", "reciprocal-ranks", {{"weights", "tuned"}}},
      {"tuned weights, k by training", "reciprocal-ranks", {{"weights", "tuned"}, {"k-by", "training"}}},
      {"RankBoost from RRF", "reciprocal-ranks", {{"rounds", "50"}}},
      {"RankBoost from tuned weights",
       "reciprocal-ranks",
       {{"rounds", "50"}, {"weights", "tuned"}, {"k-by", "training"}}},
      {"RankBoost 3.cum", "rankboost", {{"rounds", "100"}}},
      {"RankBoost of values", "rankboost", {{"rounds", "50"}, {"weak-ranking", "value"}}},
      {"blend", "rankboost-blend", {}},
      {"bagged RankBoost", "rankboost-bagged", {{"rounds", "50"}, {"bags", "10"}}, false},
      {"RankBoost 2.cum", "rankboost", {{"rounds", "50"}, {"weak-learner", "2.cum"}}, false},
      {"monotone trees", "monotone-trees", {{"bags", "3"}, {"tree-depth", "2"}}, false},
      {"auto", "auto", {}}};
  if (are_many) std::erase_if(out, [](const Compared& each) { return !each.is_for_many; });
  return out;
}

/// A data set, and the first measure of its table in docs/results.md.
struct DataSet {
  JudgedQueries queries;
  std::string measure;
};

bool has_many_lists(const DataSet& data) {
  return data.queries.set.matrix.feature_count() > kManyLists;
}

/// Per learner, one value per query of the part.
Result<std::vector<std::vector<double>>> values_of_part(const DataSet& data, std::size_t part,
                                                        std::uint64_t seed) {
  const auto [train_queries, test_queries] = divided(data.queries.part_of, part);
  const fusion::TrainingSet train_set = fusion::select_queries(data.queries.set, train_queries);
  const fusion::TrainingSet test_set = fusion::select_queries(data.queries.set, test_queries);
  TRY(const auto measures, evaluation::parse_measures(data.measure));
  std::vector<std::vector<double>> out;
  for (const Compared& each : compared_learners(has_many_lists(data))) {
    fusion::TrainingRequest request;
    request.seed = seed;
    request.measure.name = data.measure;
    TRY(const auto model, train(each.learner, train_set, each.options, request));
    out.push_back(
        values_of(data.queries, test_queries, test_set, model.ranker->score(test_set.matrix), measures));
  }
  return out;
}

struct Row {
  std::string name;
  std::string measure;
  std::size_t queries = 0;
  std::vector<std::string> learners;
  std::vector<double> means;  ///< one per learner

  std::size_t best() const {  ///< without auto
    return static_cast<std::size_t>(std::max_element(means.begin(), means.end() - 1) - means.begin());
  }
  double difference() const { return means.back() - means[best()]; }
};

Result<Row> compare_on(const DataSet& data, const ExperimentOptions& options) {
  TRY(const auto parts, run_all(kFifths, options.threads, options.progress,
                                [&](std::size_t part) { return values_of_part(data, part, options.seed); }));
  Row row{data.queries.name, data.measure, data.queries.part_of.size(), {}, {}};
  const auto learners = compared_learners(has_many_lists(data));
  for (std::size_t i = 0; i < learners.size(); ++i) {
    std::vector<double> all;
    for (const auto& part : parts) all.insert(all.end(), part[i].begin(), part[i].end());
    row.learners.push_back(learners[i].name);
    row.means.push_back(mean_of(all));
  }
  return row;
}

/// The samples of the demonstration, averaged into one row.
Row mean_row(const std::vector<Row>& samples) {
  Row out = samples.front();
  for (std::size_t i = 0; i < out.means.size(); ++i) {
    std::vector<double> values;
    for (const Row& each : samples) values.push_back(each.means[i]);
    out.means[i] = mean_of(values);
  }
  out.name = fmt::format("home pages, mean of {} samples", samples.size());
  return out;
}

JsonObject json_of(const Row& row) {
  JsonObject means;
  for (std::size_t i = 0; i < row.means.size(); ++i) means[row.learners[i]] = row.means[i];
  return {{"measure", row.measure},
          {"queries", row.queries},
          {"means", std::move(means)},
          {"best_in_hindsight", row.learners[row.best()]},
          {"difference", row.difference()}};
}

/// Adds the tables of all data sets and judges whether auto keeps up.
void describe(const std::vector<Row>& rows, PaperReport& report) {
  Table table{{{"", "measure", "queries", "auto", "best in hindsight", "its", "difference"}}};
  for (const Row& row : rows) {
    const std::string difference = fmt::format("{:+.4f}", row.difference());
    table.add({row.name, row.measure, std::to_string(row.queries), fixed(row.means.back(), 4),
               row.learners[row.best()], fixed(row.means[row.best()], 4), difference});
    report.json[row.name] = json_of(row);
    report.judge(
        fmt::format("{}: auto is no more than {} below the best learner in hindsight", row.name, kTolerance),
        row.difference() >= -kTolerance, difference);
  }
  report.text += table.text() + "\n";
  for (const Row& row : rows) report.text += row.name + ": " + named(row.learners, row.means, 4) + "\n";
  report.text += "\n";
}

}  // namespace
}  // namespace hindsight

Result<std::string> run_hindsight(const ExperimentOptions& options) {
  using namespace hindsight;
  if (options.data.empty()) return fail(Code::usage, "give --data DIR, the folder of the data sets");
  std::vector<Row> rows;
  const auto add = [&](Result<JudgedQueries> read, const std::string& measure) -> Result<void> {
    TRY(auto queries, std::move(read));
    TRY(auto row, compare_on({std::move(queries), measure}, options));
    rows.push_back(std::move(row));
    return {};
  };
  if (!options.is_quick()) TRY_VOID(add(read_aggregation(options.data, "MQ2007-agg"), "map"));
  TRY_VOID(add(read_aggregation(options.data, "MQ2008-agg"), "map"));
  TRY_VOID(add(judged_runs(read_trec3(options.data), options.seed), "map"));
  TRY_VOID(add(judged_runs(read_covid_round1(options.data), options.seed), "map"));
  if (!options.is_quick()) TRY_VOID(add(judged_runs(read_fedweb(options.data), options.seed), "ndcg_cut_20"));
  PaperReport report{"hindsight", "auto beside the best learner in hindsight",
                     "Five folds by query; each learner and auto see the same training queries.\n\n"};
  if (has_demonstration(options, report)) {
    std::vector<Row> samples;
    for (std::uint64_t sample = 0; sample < (options.is_quick() ? 1 : kSamples); ++sample) {
      TRY_VOID(add(record_demonstration(options, options.seed + 1 + sample), "map"));
      samples.push_back(std::move(rows.back()));
      rows.pop_back();
    }
    rows.push_back(mean_row(samples));
  }
  describe(rows, report);
  return deliver(std::move(report), options);
}

}  // namespace metafuse::lab::experiments
