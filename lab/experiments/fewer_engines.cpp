// What is lost when only some of the lists are asked for: five folds by query, in which the training queries
// choose the lists (list_choice.h) and train `auto` on all lists, and the test queries are fused
// from the chosen lists alone. FedWeb 2013 has 157 web search engines; the demonstration, which takes part if
// options.data contains packages.txt, has 32 lists. Quick: without the demonstration.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "fusion/data/features.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/judged_queries.h"
#include "lab/experiments/list_choice.h"

namespace metafuse::lab::experiments {
namespace fewer_engines {
namespace {

constexpr std::array<std::size_t, 6> kCounts = {3, 5, 10, 15, 20, 30};
constexpr std::size_t kMostOfFedweb = 15;
constexpr std::size_t kMostOfDemonstration = 10;

/// How lists are chosen.
enum Way : std::size_t { kByUse, kByGain, kByHindsight, kWays };
constexpr std::array<const char*, kWays> kNames = {"mean use alone", "greedy gain", "by the judgments"};

/// The lists by what each brings on its own, whatever the others bring.
std::vector<std::uint64_t> by_use(const fusion::TrainingSet& set) {
  std::vector<std::pair<double, std::uint64_t>> uses;
  for (std::size_t f = 0; f < set.matrix.feature_count(); ++f) {
    double sum = 0.0;
    for (std::size_t row = 0; row < set.grades.size(); ++row)
      if (set.grades[row] > 0.0 && !set.matrix.is_unranked(row, f))
        sum += set.grades[row] * fusion::reciprocal_rank_share(-set.matrix.value(row, f));
    uses.emplace_back(-sum, f);
  }
  std::sort(uses.begin(), uses.end());
  std::vector<std::uint64_t> out;
  for (const auto& [sum, feature] : uses) out.push_back(feature);
  return out;
}

/// A set in which only the first `count` lists of an order were asked for. What no asked list holds is in no
/// answer, so it counts as not relevant there.
fusion::TrainingSet with_lists(const fusion::TrainingSet& set, const std::vector<std::uint64_t>& order,
                               std::size_t count) {
  fusion::TrainingSet out = set;
  out.matrix = fusion::FeatureMatrix(set.matrix.features(), set.matrix.document_count());
  std::vector<bool> is_listed(set.matrix.document_count(), false);
  for (std::size_t i = 0; i < std::min(count, order.size()); ++i)
    for (std::size_t row = 0; row < is_listed.size(); ++row) {
      if (set.matrix.is_unranked(row, order[i])) continue;
      out.matrix.set(row, order[i], set.matrix.value(row, order[i]));
      is_listed[row] = true;
    }
  for (std::size_t row = 0; row < is_listed.size(); ++row)
    if (!is_listed[row]) out.grades[row] = 0.0;
  return out;
}

/// The model's scores; below all others for a document that no list holds.
std::vector<double> scores_of(const fusion::Model& model, const fusion::TrainingSet& set) {
  std::vector<double> scores = model.ranker->score(set.matrix);
  for (std::size_t row = 0; row < scores.size(); ++row) {
    bool is_listed = false;
    for (std::size_t f = 0; f < set.matrix.feature_count() && !is_listed; ++f)
      is_listed = !set.matrix.is_unranked(row, f);
    if (!is_listed) scores[row] = -1e300;
  }
  return scores;
}

/// The column of a way and the i-th number of lists in what run_part() gives.
std::size_t column_of(std::size_t way, std::size_t i) {
  return 1 + way * kCounts.size() + i;
}

/// The values of one part's queries: with all lists, then per way and number of lists.
Result<PartValues> run_part(const JudgedQueries& queries, const std::string& measure, std::size_t part,
                            std::uint64_t seed) {
  const Division division = divided(queries.part_of, part);
  Trial trial(queries, division, measure, seed);
  trial.request.measure.name = measure;
  TRY(const auto model, trial.learn({"auto"}));
  const std::vector<std::uint64_t> used = by_use(trial.train_set);
  const std::vector<std::uint64_t> gained = learn_list_choice(trial.train_set).order;
  PartValues out(1 + kWays * kCounts.size());
  for (const std::size_t query : division.test) {
    const std::vector<std::size_t> one = {query};
    const fusion::TrainingSet set = fusion::select_queries(queries.set, one);
    const std::vector<std::uint64_t> known = learn_list_choice(set).order;
    const std::array<const std::vector<std::uint64_t>*, kWays> orders = {&used, &gained, &known};
    const auto value = [&](const fusion::TrainingSet& asked) {
      return values_of(queries, one, asked, scores_of(model, asked), trial.measures)[0];
    };
    out[0].push_back(value(set));
    for (std::size_t way = 0; way < kWays; ++way)
      for (std::size_t i = 0; i < kCounts.size(); ++i)
        out[column_of(way, i)].push_back(value(with_lists(set, *orders[way], kCounts[i])));
  }
  return out;
}

/// The means over all queries of a data set, as run_part() orders them; adds their table.
Result<std::vector<double>> compare(const JudgedQueries& queries, const std::string& measure,
                                    const ExperimentOptions& options, Report& report) {
  TRY(const auto parts, run_all(kFifths, options, [&](std::size_t part) {
        return run_part(queries, measure, part, options.seed);
      }));
  const std::vector<double> means = means_over_queries(parts);
  const std::size_t lists = queries.set.matrix.feature_count();
  Table table{{{fmt::format("{}: {} by lists asked", queries.name, measure)}}};
  for (const char* name : kNames) table.rows[0].emplace_back(name);
  for (std::size_t i = 0; i < kCounts.size() && kCounts[i] < lists; ++i) {
    std::vector<double> row;
    for (std::size_t way = 0; way < kWays; ++way) row.push_back(means[column_of(way, i)]);
    table.add(std::to_string(kCounts[i]), row, 4);
  }
  table.add(fmt::format("all {}", lists), std::vector<double>(kWays, means[0]), 4);
  report.add(table);
  report.text += "\n";
  return means;
}

/// What the greedy choice of so many lists is worth, from the means of compare().
double greedy(const std::vector<double>& means, std::size_t count) {
  const auto at = std::find(kCounts.begin(), kCounts.end(), count) - kCounts.begin();
  return means[column_of(kByGain, static_cast<std::size_t>(at))];
}

}  // namespace
}  // namespace fewer_engines

Result<Report> run_fewer_engines(const ExperimentOptions& options) {
  using namespace fewer_engines;
  Report report{
      "Five folds by query: the other folds' judgments choose the lists and train auto. \"By the judgments\" "
      "chooses for each query by its own judgments, which nobody knows beforehand.\n\n"};
  TRY(const auto fedweb, read_judged_queries("FedWeb", options));
  TRY(const auto means, compare(fedweb, "ndcg_cut_20", options, report));
  const double reached = greedy(means, kMostOfFedweb);
  report.judge(fmt::format("{} of 157 engines reach an nDCG@20 of .513", kMostOfFedweb), reached >= 0.513,
               fixed(reached, 4));
  if (!options.is_quick() && has_set(kHomePages, options, report)) {
    TRY(const auto pages, read_judged_queries(kHomePages, options));
    TRY(const auto of_pages, compare(pages, "recip_rank", options, report));
    report.judge_at_least(
        fmt::format("{} of the demonstration's 32 lists lose at most .005 MRR", kMostOfDemonstration),
        greedy(of_pages, kMostOfDemonstration) - of_pages[0], -0.005);
  }
  return report;
}

}  // namespace metafuse::lab::experiments
