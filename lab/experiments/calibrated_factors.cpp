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

/// The plan with one thing changed.
struct Factor {
  std::string name;
  Plan plan;
  bool is_draw = false;  ///< nothing but the seed may differ from the plan
};

std::vector<double> bases_up_to(double most, double step) {
  std::vector<double> bases;
  for (double c = 0.0; c <= most; c += step) bases.push_back(c);
  return bases;
}

std::vector<Factor> factors_of(const Plan& base, const ExperimentOptions& options) {
  std::vector<Factor> factors;
  const auto add = [&](std::string name, const auto& change) {
    Factor factor{std::move(name), base, false};
    change(factor.plan);
    factors.push_back(std::move(factor));
  };
  factors.push_back({"the smaller plan", base, true});
  for (std::uint64_t draw = 1; draw <= (options.is_quick() ? 1U : 2U); ++draw)
    factors.push_back({fmt::format("the same, draw {}", draw + 1), base, true});
  for (std::size_t i = 1; i < factors.size(); ++i) factors[i].plan.seed = base.seed + i;
  if (!options.is_quick())
    add("all eighteen classifiers", [](Plan& plan) { plan.settings = lab::adaboost_mh::all_settings(); });
  add("T by steps of 5 up to 50",
      [](Plan& plan) { plan.round_counts = {5, 10, 15, 20, 25, 30, 35, 40, 45, 50}; });
  add("31 cuts per feature", [](Plan& plan) { plan.max_thresholds = 31; });
  add("equal weights at the start", [](Plan& plan) { plan.start = StartKind::equal; });
  add("resampling by 2^label instead of weights", [](Plan& plan) { plan.start = StartKind::resampled; });
  add("one split of the documents for all", [](Plan& plan) { plan.split = SplitKind::shared_documents; });
  add("splits by queries", [](Plan& plan) { plan.split = SplitKind::own_queries; });
  add("no split: calibrated on the training documents",
      [](Plan& plan) { plan.split = SplitKind::own_training; });
  add("T, c and classifier chosen by fold", [](Plan& plan) { plan.chooses_by_fold = true; });
  add("validation by the tool's NDCG@10", [](Plan& plan) { plan.measures_by_tool = true; });
  add("equal scores by document id", [](Plan& plan) { plan.are_ties_by_id = true; });
  add("60 points per Gaussian process", [](Plan& plan) { plan.process_points = 60; });
  if (!options.is_quick())
    add("500 points per Gaussian process", [](Plan& plan) { plan.process_points = 500; });
  add("scores scaled within each query", [](Plan& plan) { plan.scales_by_query = true; });
  add("c = 100 throughout, as the paper's", [](Plan& plan) { plan.bases = {100.0}; });
  add("c = 0: the plain mean", [](Plan& plan) { plan.bases = {0.0}; });
  add("c up to 1,000", [](Plan& plan) { plan.bases = bases_up_to(1000.0, 50.0); });
  return factors;
}

/// The result of a factor on one set.
struct FactorRow {
  std::string name;
  std::vector<double> values;  ///< one per ensemble of kEnsembles
  std::string choice;          ///< the choice for CPC+RBC
};

void describe_factors(const DataSet& set, const std::vector<FactorRow>& rows, std::size_t draws,
                      Report& report, JsonArray& json) {
  Table table{{{set.name + ", " + set.measure, "CPC", "RBC", "CPC+RBC", "difference", "choice"}}};
  const double base = rows[0].values[2];
  JsonArray json_rows;
  double published = 0.0;
  for (const auto& [name, figure] : set.published)
    if (name == kEnsembles[2]) published = figure;
  for (const FactorRow& row : rows) {
    table.add({row.name, fixed(row.values[0], 4), fixed(row.values[1], 4), fixed(row.values[2], 4),
               fmt::format("{:+.4f}", row.values[2] - base), row.choice});
    json_rows.push_back(
        JsonObject{{"factor", row.name}, {"values", json_array(row.values)}, {"choice", row.choice}});
  }
  report.text += table.text();
  json.push_back(JsonObject{
      {"set", set.name}, {"measure", set.measure}, {"published", published}, {"rows", std::move(json_rows)}});
  double noise = 0.0;
  for (std::size_t i = 1; i < draws; ++i) noise = std::max(noise, std::abs(rows[i].values[2] - base));
  const auto best =
      std::max_element(rows.begin() + static_cast<std::ptrdiff_t>(draws), rows.end(),
                       [](const FactorRow& a, const FactorRow& b) { return a.values[2] < b.values[2]; });
  report.judge(
      set.name + ": one factor alone brings the ensemble of both to within .01 of the published figure",
      best->values[2] >= published - 0.01,
      fmt::format("the best, \"{}\", has {:.4f} against {:.4f}, published {:.4f}; other draws differ by "
                  "up to {:.4f}",
                  best->name, best->values[2], base, published, noise));
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
  const std::vector<Factor> factors = factors_of(base, options);
  std::size_t draws = 0;
  for (const Factor& factor : factors) draws += factor.is_draw ? 1 : 0;
  std::vector<DataSet> sets;
  for (const DataSet& set : data_sets(options.data))
    if (set.name == "MQ2008" || (set.name == "OHSUMED" && !options.is_quick())) sets.push_back(set);
  Report report;
  JsonArray json;
  std::size_t done = 0;
  for (const DataSet& set : sets) {
    TRY(const auto folds, read_folds(set, options.data));
    std::vector<FactorRow> rows;
    for (const Factor& factor : factors) {
      TRY(const auto result, run_set(set, folds, factor.plan, [] {}));
      FactorRow row{factor.name, {}, result.methods.at(kEnsembles[2]).choice};
      for (const char* const ensemble : kEnsembles)
        row.values.push_back(mean_of(result.methods.at(ensemble).fold_means));
      if (factor.plan.chooses_by_fold) row.choice = "by fold";
      rows.push_back(std::move(row));
      if (options.progress) options.progress(++done, sets.size() * factors.size());
    }
    describe_factors(set, rows, draws, report, json);
  }
  report.json["sets"] = std::move(json);
  return report;
}

}  // namespace metafuse::lab::experiments
