// What `auto` loses by having to choose: on every data set of docs/results.md, five-fold cross-validated by
// query, beside each learner that it chooses among; which of them is best is known only in hindsight. The
// demonstration takes part if options.data contains packages.txt. Quick: without the two large sets, one
// sample of the demonstration.
#include <algorithm>

#include <fmt/format.h>

#include "lab/experiments/data_sets.h"
#include "lab/experiments/judged_queries.h"

namespace metafuse::lab::experiments {
namespace hindsight {
namespace {

constexpr double kTolerance = 0.003;
constexpr std::size_t kManyLists = 30;  // above this, 2.cum and trees take 10 to 100 times RankBoost's time

struct Compared {
  Method method;
  bool is_for_many = true;  ///< also run on data with many lists
};

const Compared kCompared[] = {
    {{"RRF", "reciprocal-ranks"}},
    {{"best list", "reciprocal-ranks", {{"weights", "best"}}}},
    {{"tuned weights", "reciprocal-ranks", {{"weights", "tuned"}}}},
    {{"tuned weights, k by training", "reciprocal-ranks", {{"weights", "tuned"}, {"k-by", "training"}}}},
    {{"RankBoost from RRF", "reciprocal-ranks", {{"rounds", "50"}}}},
    {{"RankBoost from tuned weights",
      "reciprocal-ranks",
      {{"rounds", "50"}, {"weights", "tuned"}, {"k-by", "training"}}}},
    {{"RankBoost 3.cum", "rankboost", {{"rounds", "100"}}}},
    {{"RankBoost of values", "rankboost", {{"rounds", "50"}, {"weak-ranking", "value"}}}},
    {{"blend", "rankboost-blend"}},
    {{"bagged RankBoost", "rankboost-bagged", {{"rounds", "50"}, {"bags", "10"}}}, false},
    {{"RankBoost 2.cum", "rankboost", {{"rounds", "50"}, {"weak-learner", "2.cum"}}}, false},
    {{"monotone trees", "monotone-trees", {{"bags", "3"}, {"tree-depth", "2"}}}, false},
    {{"auto"}}};

/// The learners to compare; the last one is auto.
std::vector<Method> methods_for(const JudgedQueries& queries) {
  std::vector<Method> out;
  for (const Compared& each : kCompared)
    if (each.is_for_many || queries.set.matrix.feature_count() <= kManyLists) out.push_back(each.method);
  return out;
}

/// A data set, and the first measure of its table in docs/results.md.
struct MeasuredSet {
  std::string name;
  std::string measure;
  bool is_large = false;
  std::uint64_t samples = 1;  ///< of the demonstration's queries
};
const MeasuredSet kSets[] = {
    {"MQ2007-agg", "map", true}, {"MQ2008-agg", "map"},           {"TREC-3", "map"},
    {"TREC-COVID", "map"},       {"FedWeb", "ndcg_cut_20", true}, {kHomePages, "map", false, 5}};

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

Result<Row> compare_on(const JudgedQueries& queries, const std::string& measure,
                       const ExperimentOptions& options) {
  const std::vector<Method> methods = methods_for(queries);
  TRY(const auto parts, run_all(kFifths, options, [&](std::size_t part) -> Result<PartValues> {
        Trial trial(queries, divided(queries.part_of, part), measure, options.seed);
        trial.request.measure.name = measure;
        PartValues values;
        for (const Method& method : methods) {
          TRY(const auto model, trial.learn(method));
          values.push_back(trial.values(model));
        }
        return values;
      }));
  Row row{queries.name, measure, queries.part_of.size(), {}, means_over_queries(parts)};
  for (const Method& method : methods) row.learners.push_back(method.name);
  return row;
}

/// The row of a set: of a set with samples, their mean.
Result<Row> row_of(const MeasuredSet& set, const ExperimentOptions& options) {
  const std::uint64_t samples = options.is_quick() ? 1 : set.samples;
  Row row;
  std::vector<std::vector<double>> means;
  for (std::uint64_t sample = samples; sample >= 1; --sample) {
    TRY(const auto queries, read_judged_queries(set.name, options, sample));
    TRY(row, compare_on(queries, set.measure, options));
    means.insert(means.begin(), row.means);
  }
  for (std::size_t i = 0; i < row.means.size(); ++i)
    row.means[i] = mean_by(means, [&](const std::vector<double>& of_sample) { return of_sample[i]; });
  if (set.samples > 1) row.name = fmt::format("{}, mean of {} samples", row.name, samples);
  return row;
}

/// Adds the tables of all data sets and judges whether auto keeps up.
void describe(const std::vector<Row>& rows, Report& report) {
  Table table{{{"", "measure", "queries", "auto", "best in hindsight", "its", "difference"}}};
  for (const Row& row : rows) {
    table.add({row.name, row.measure, std::to_string(row.queries), fixed(row.means.back(), 4),
               row.learners[row.best()], fixed(row.means[row.best()], 4), signed_text(row.difference())});
    report.judge_at_least(
        fmt::format("{}: auto is no more than {} below the best learner in hindsight", row.name, kTolerance),
        row.difference(), -kTolerance);
  }
  report.add(table);
  report.text += "\n";
  for (const Row& row : rows) report.text += row.name + ": " + named(row.learners, row.means, 4) + "\n";
  report.text += "\n";
}

}  // namespace
}  // namespace hindsight

Result<Report> run_hindsight(const ExperimentOptions& options) {
  using namespace hindsight;
  Report report{"Five folds by query; each learner and auto see the same training queries.\n\n"};
  std::vector<Row> rows;
  for (const MeasuredSet& set : kSets) {
    if ((set.is_large && options.is_quick()) || !has_set(set.name, options, report)) continue;
    TRY(auto row, row_of(set, options));
    rows.push_back(std::move(row));
  }
  describe(rows, report);
  return report;
}

}  // namespace metafuse::lab::experiments
