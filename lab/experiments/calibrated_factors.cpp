// What may explain the differences between the calibrated ensembles here and those of Busa-Fekete et al.
// 2011, one factor at a time (grid and rounds, cuts, initial weights, splits, what is chosen by what, ties,
// Gaussian processes, scales, c) in a smaller plan of six classifiers and up to 100 rounds. Rows that change
// only the seed show how large a difference has to be to mean anything. Quick: MQ2008 only.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "lab/experiments/calibrated.h"
#include "lab/experiments/experiment.h"
#include "lab/experiments/report.h"

namespace metafuse::lab::experiments {
namespace calibrated {
namespace {

constexpr const char* kEnsembles[] = {"ensemble, CPC", "ensemble, RBC", "ensemble, CPC+RBC"};

std::vector<double> bases_up_to(double most, double step) {
  std::vector<double> bases;
  for (double c = 0.0; c <= most; c += step) bases.push_back(c);
  return bases;
}

/// One thing that is changed in the plan.
struct Factor {
  const char* name;
  void (*change)(Plan& plan);
  bool is_quick = true;  ///< also part of a quick run
  bool is_draw = false;  ///< nothing but the seed differs from the plan
};
const Factor kFactors[] = {
    {"the smaller plan", [](Plan&) {}, true, true},
    {"the same, draw 2", [](Plan& plan) { plan.seed += 1; }, true, true},
    {"the same, draw 3", [](Plan& plan) { plan.seed += 2; }, false, true},
    {"all eighteen classifiers", [](Plan& plan) { plan.settings = lab::adaboost_mh::all_settings(); }, false},
    {"T by steps of 5 up to 50",
     [](Plan& plan) { plan.round_counts = {5, 10, 15, 20, 25, 30, 35, 40, 45, 50}; }},
    {"31 cuts per feature", [](Plan& plan) { plan.max_thresholds = 31; }},
    {"equal weights at the start", [](Plan& plan) { plan.start = StartKind::equal; }},
    {"resampling by 2^label instead of weights", [](Plan& plan) { plan.start = StartKind::resampled; }},
    {"one split of the documents for all", [](Plan& plan) { plan.split = SplitKind::shared_documents; }},
    {"splits by queries", [](Plan& plan) { plan.split = SplitKind::own_queries; }},
    {"no split: calibrated on the training documents",
     [](Plan& plan) { plan.split = SplitKind::own_training; }},
    {"T, c and classifier chosen by fold", [](Plan& plan) { plan.chooses_by_fold = true; }},
    {"validation by the tool's NDCG@10", [](Plan& plan) { plan.measures_by_tool = true; }},
    {"equal scores by document id", [](Plan& plan) { plan.are_ties_by_id = true; }},
    {"60 points per Gaussian process", [](Plan& plan) { plan.process_points = 60; }},
    {"500 points per Gaussian process", [](Plan& plan) { plan.process_points = 500; }, false},
    {"scores scaled within each query", [](Plan& plan) { plan.scales_by_query = true; }},
    {"c = 100 throughout, as the paper's", [](Plan& plan) { plan.bases = {100.0}; }},
    {"c = 0: the plain mean", [](Plan& plan) { plan.bases = {0.0}; }},
    {"c up to 1,000", [](Plan& plan) { plan.bases = bases_up_to(1000.0, 50.0); }},
};

/// The result of a factor on one set.
struct FactorRow {
  const Factor* factor = nullptr;
  std::vector<double> values;  ///< one per ensemble of kEnsembles
  std::string choice;          ///< the choice for CPC+RBC
};

void describe_factors(const DataSet& set, const std::vector<FactorRow>& rows, Report& report,
                      JsonArray& json) {
  Table table{{{set.name + ", " + set.measure, "CPC", "RBC", "CPC+RBC", "difference", "choice"}}};
  const double base = rows[0].values[2];
  const auto published = std::find_if(set.published.begin(), set.published.end(),
                                      [](const auto& row) { return row.first == kEnsembles[2]; });
  JsonArray json_rows;
  double noise = 0.0;
  const FactorRow* best = nullptr;
  for (const FactorRow& row : rows) {
    const double difference = row.values[2] - base;
    table.add(row.factor->name, row.values, 4);
    table.rows.back().insert(table.rows.back().end(), {signed_text(difference), row.choice});
    json_rows.push_back(
        JsonObject{{"factor", row.factor->name}, {"values", json_array(row.values)}, {"choice", row.choice}});
    if (row.factor->is_draw)
      noise = std::max(noise, std::abs(difference));
    else if (best == nullptr || row.values[2] > best->values[2])
      best = &row;
  }
  report.text += table.text();
  json.push_back(JsonObject{{"set", set.name},
                            {"measure", set.measure},
                            {"published", published->second},
                            {"rows", std::move(json_rows)}});
  report.judge(
      set.name + ": one factor alone brings the ensemble of both to within .01 of the published figure",
      best->values[2] >= published->second - 0.01,
      fmt::format("the best, \"{}\", has {:.4f} against {:.4f}, published {:.4f}; other draws differ by "
                  "up to {:.4f}",
                  best->factor->name, best->values[2], base, published->second, noise));
}

}  // namespace
}  // namespace calibrated

Result<Report> run_calibrated_factors(const ExperimentOptions& options) {
  using namespace calibrated;
  ExperimentOptions small = options;
  small.size = ExperimentOptions::Size::quick;
  Plan base = plan_of(small);
  base.rankboost_rounds.clear();
  base.stops_early = false;
  std::vector<const Factor*> factors;
  for (const Factor& factor : kFactors)
    if (factor.is_quick || !options.is_quick()) factors.push_back(&factor);
  Report report;
  JsonArray json;
  std::size_t done = 0;
  for (const DataSet& set : data_sets(options.data)) {
    if (set.name != "MQ2008" && (set.name != "OHSUMED" || options.is_quick())) continue;
    TRY(const auto folds, read_folds(set, options.data));
    std::vector<FactorRow> rows;
    for (const Factor* factor : factors) {
      Plan plan = base;
      factor->change(plan);
      TRY(const auto result, run_set(set, folds, plan, [] {}));
      FactorRow row{factor, {}, plan.chooses_by_fold ? "by fold" : result.methods.at(kEnsembles[2]).choice};
      for (const char* const ensemble : kEnsembles)
        row.values.push_back(mean_of(result.methods.at(ensemble).fold_means));
      rows.push_back(std::move(row));
      if (options.progress) options.progress(++done, (options.is_quick() ? 1 : 2) * factors.size());
    }
    describe_factors(set, rows, report, json);
  }
  report.json["sets"] = std::move(json);
  return report;
}

}  // namespace metafuse::lab::experiments
