#include "experiments/calibrated/experiment.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/distributions/chi_squared.hpp>

#include "evaluation/significance.h"
#include "experiments/calibrated/fold_run.h"
#include "experiments/curve_plot.h"
#include "experiments/interval.h"
#include "experiments/paper_report.h"

namespace metafuse::experiments::calibrated {
namespace {

using fusion::adaboost_mh::BaseKind;
using fusion::adaboost_mh::kSigmoidTargets;
using fusion::adaboost_mh::name_of;

constexpr const char* kRows[] = {"ensemble, CPC",      "ensemble, RBC",         "ensemble, CPC+RBC",
                                 "AdaBoost.MH, trees", "AdaBoost.MH, products", "RankBoost"};
constexpr std::size_t kDepth = 10;

Plan plan_of(const ExperimentOptions& options) {
  Plan plan;
  plan.threads = options.threads;
  plan.seed = options.seed;
  plan.settings = fusion::adaboost_mh::all_settings();
  plan.round_counts = {10, 20, 50, 100, 200, 500, 1000};
  plan.rankboost_rounds = {25, 50, 100, 200};
  if (options.size == ExperimentOptions::Size::full) {
    for (const std::size_t rounds : {2000, 5000, 10000}) plan.round_counts.push_back(rounds);
    plan.stops_early = false;
  }
  if (options.size == ExperimentOptions::Size::quick) {
    plan.settings = {{BaseKind::tree, 5},    {BaseKind::tree, 15},   {BaseKind::tree, 30},
                     {BaseKind::product, 2}, {BaseKind::product, 5}, {BaseKind::product, 10}};
    plan.round_counts = {10, 50};
    plan.rankboost_rounds = {50};
    plan.process_points = 200;
  }
  return plan;
}

/// What the LETOR tools print, one value a query: NDCG@1 ... @10, MeanNDCG.
struct QueryValues {
  std::vector<std::vector<double>> values;  ///< queries x 11
};

QueryValues measured(const FoldData& data, const std::vector<double>& scores, evaluation::Mode mode) {
  static const auto set = evaluation::parse_measures("ndcg_cut_1,2,3,4,5,6,7,8,9,10,mean_ndcg");
  evaluation::Rules rules;
  rules.mode = mode;
  QueryValues out;
  for (const auto& query : data.test.queries) {
    const std::span<const double> part(&scores[query.begin], query.end - query.begin);
    std::vector<double> grades;
    for (std::size_t d = query.begin; d < query.end; ++d)
      grades.push_back(data.grades[static_cast<std::size_t>(data.test.classes[d])]);
    out.values.push_back(evaluation::evaluate(
        *set, evaluation::judged_ranking(grades, evaluation::order_by_score(part), part), rules));
  }
  return out;
}

struct SetResult {
  std::map<std::string, std::vector<double>> fold_means;    ///< of the paper's measure, a fold each
  std::map<std::string, std::vector<double>> ndcg;          ///< mean over folds of NDCG@1 ... @10
  std::map<std::string, std::vector<std::string>> choices;  ///< a fold each
  std::vector<std::vector<std::vector<double>>> p;          ///< target x target x fold
  std::size_t fallbacks = 0;
  std::size_t folds = 0;
};

void add_diversity(const FoldRun& run, SetResult& result) {
  result.p.resize(5, std::vector<std::vector<double>>(5));
  for (std::size_t a = 0; a < 5; ++a)
    for (std::size_t b = a + 1; b < 5; ++b)
      result.p[a][b].push_back(evaluation::paired_t_test(run.sigmoid_scores[a], run.sigmoid_scores[b]));
}

Result<SetResult> run_set(const DataSet& set, const Plan& plan, const ExperimentOptions& options, int folds,
                          const std::function<void()>& fold_done) {
  SetResult result;
  const std::size_t column = set.measure == "mean_ndcg" ? kDepth : kDepth - 1;
  for (int fold = 1; fold <= folds; ++fold) {
    const auto data = read_fold(set, options.data, fold, options.seed);
    if (!data) return data.error();
    const auto run = run_fold(*data, plan);
    if (!run) return run.error();
    for (const auto& [name, method] : run->methods) {
      const QueryValues values = measured(*data, method.scores, set.mode);
      auto& ndcg = result.ndcg[name];
      ndcg.resize(kDepth, 0.0);
      double sum = 0.0;
      for (const auto& query : values.values) {
        sum += query[column];
        for (std::size_t k = 0; k < kDepth; ++k)
          ndcg[k] += query[k] / static_cast<double>(values.values.size()) / folds;
      }
      result.fold_means[name].push_back(sum / static_cast<double>(values.values.size()));
      result.choices[name].push_back(method.choice);
    }
    add_diversity(*run, result);
    result.fallbacks += run->fallbacks;
    ++result.folds;
    fold_done();
  }
  return result;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Fisher's method: one p value out of independent ones.
double fisher(const std::vector<double>& p) {
  double sum = 0.0;
  for (const double each : p) sum -= 2.0 * std::log(std::max(each, 1e-300));
  return boost::math::cdf(
      boost::math::complement(boost::math::chi_squared(2.0 * static_cast<double>(p.size())), sum));
}

std::string table_of(const DataSet& set, const SetResult& result) {
  std::vector<std::vector<std::string>> rows = {
      {set.name + ", " + set.measure, "here", "paper", "difference"}};
  for (std::size_t fold = 1; fold <= result.folds; ++fold) rows[0].push_back("fold " + std::to_string(fold));
  for (const auto& [name, published] : set.published) {
    const auto found = result.fold_means.find(name);
    std::vector<std::string> row = {name, "-", fixed(published, 4), "-"};
    if (found != result.fold_means.end()) {
      row[1] = fixed(mean(found->second), 4);
      row[3] = fixed(mean(found->second) - published, 4);
      for (const double value : found->second) row.push_back(fixed(value, 4));
    }
    row.resize(rows[0].size(), "");
    rows.push_back(std::move(row));
  }
  std::string text = columns(rows) + "\nchosen on validation, a fold each:\n";
  for (const char* name : kRows) {
    text += std::string("  ") + name + ":";
    for (const std::string& choice : result.choices.at(name)) text += " [" + choice + "]";
    text += "\n";
  }
  if (result.fallbacks > 0)
    text += std::to_string(result.fallbacks) +
            " calibrations had constant votes and fell back to the mean gain\n";
  return text;
}

std::string diversity_of(const SetResult& result) {
  std::vector<std::vector<std::string>> rows = {{"p, CPC against CPC"}};
  for (const auto target : kSigmoidTargets) rows[0].emplace_back(name_of(target));
  for (std::size_t a = 0; a < 5; ++a) {
    std::vector<std::string> row = {std::string(name_of(kSigmoidTargets[a]))};
    for (std::size_t b = 0; b < 5; ++b)
      row.push_back(a < b ? fixed(fisher(result.p[a][b]), 4) : a == b ? "1" : "");
    rows.push_back(std::move(row));
  }
  return columns(rows);
}

std::string plot_of(const DataSet& set, const SetResult& result) {
  std::vector<Curve> curves;
  std::vector<double> ranks(kDepth);
  std::iota(ranks.begin(), ranks.end(), 1.0);
  for (const char* name : kRows) curves.push_back({name, ranks, result.ndcg.at(name)});
  return svg_plot(curves, {set.name + ": NDCG@k (fig. 2)", "k", "NDCG@k", false});
}

JsonObject json_of(const DataSet& set, const SetResult& result) {
  JsonObject rows;
  for (const auto& [name, values] : result.fold_means) {
    const auto& ndcg = result.ndcg.at(name);
    rows[name] = JsonObject{{"mean", mean(values)},
                            {"folds", JsonArray(values.begin(), values.end())},
                            {"ndcg_at", JsonArray(ndcg.begin(), ndcg.end())}};
  }
  return JsonObject{{"set", set.name}, {"measure", set.measure}, {"rows", std::move(rows)}};
}

void add_claims(const DataSet& set, const SetResult& result, PaperReport& report) {
  const auto value = [&](const char* name) { return mean(result.fold_means.at(name)); };
  for (const auto& [name, published] : set.published)
    if (name.starts_with("ensemble"))
      report.claims.push_back(judged(set.name + ": " + name + " within .01 of the published figure, or above",
                                     value(name.c_str()) >= published - 0.01,
                                     fixed(value(name.c_str()), 4) + ", published " + fixed(published, 4)));
  report.claims.push_back(judged(
      set.name + ": calibration and ensemble improve on plain AdaBoost.MH",
      value("ensemble, CPC+RBC") > std::max(value("AdaBoost.MH, trees"), value("AdaBoost.MH, products")),
      fixed(value("ensemble, CPC+RBC"), 4) + " against " + fixed(value("AdaBoost.MH, trees"), 4) + " and " +
          fixed(value("AdaBoost.MH, products"), 4)));
}

}  // namespace

Result<std::string> run_calibrated(const ExperimentOptions& options) {
  const Plan plan = plan_of(options);
  const int folds = options.size == ExperimentOptions::Size::quick ? 1 : 5;
  const auto sets = data_sets(options.data);
  PaperReport report;
  report.name = "calibrated";
  report.title = "Calibrated AdaBoost.MH (Busa-Fekete et al. 2011)";
  JsonArray json;
  std::size_t done = 0;
  for (const DataSet& set : sets) {
    const auto result = run_set(set, plan, options, folds, [&] {
      if (options.progress) options.progress(++done, sets.size() * static_cast<std::size_t>(folds));
    });
    if (!result) return result.error();
    report.text += table_of(set, *result) + "\n" + diversity_of(*result) + "\n";
    report.plots.push_back(plot_of(set, *result));
    json.push_back(json_of(set, *result));
    if (folds == 5) add_claims(set, *result, report);
  }
  if (folds == 1) report.text += "one fold only: not comparable with the published means of five\n";
  if (sets.size() == 2)
    report.text += "MQ2007 is left out: put its parts S1.txt to S5.txt into letor4-MQ2007 below --data\n";
  report.json["sets"] = std::move(json);
  return deliver(std::move(report), options);
}

}  // namespace metafuse::experiments::calibrated
