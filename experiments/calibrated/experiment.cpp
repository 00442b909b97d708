#include "experiments/calibrated/experiment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include <boost/math/distributions/chi_squared.hpp>

#include "evaluation/reports/svg_plot.h"
#include "evaluation/significance/significance.h"
#include "experiments/calibrated/fold_run.h"
#include "experiments/interval.h"
#include "experiments/paper_report.h"

namespace metafuse::experiments::calibrated {
namespace {

using fusion::adaboost_mh::BaseKind;
using fusion::adaboost_mh::kSigmoidTargets;
using fusion::adaboost_mh::name_of;

constexpr const char* kRows[] = {"ensemble, CPC",      "ensemble, RBC",         "ensemble, CPC+RBC",
                                 "AdaBoost.MH, trees", "AdaBoost.MH, products", "RankBoost"};
constexpr const char* kFileOrder = "the files' own order";
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
    plan.round_counts = {10, 20, 50, 100};
    plan.rankboost_rounds = {25, 50, 100};
    plan.process_points = 200;
  }
  return plan;
}

struct SetResult {
  std::map<std::string, std::vector<double>> fold_means;  ///< of the paper's measure, a fold each
  std::map<std::string, std::vector<double>> ndcg;        ///< mean over folds of NDCG@1 ... @10
  std::map<std::string, std::string> choices;
  std::map<std::string, double> validations;        ///< NDCG@10 where the choice and the weights were made
  std::vector<std::vector<std::vector<double>>> p;  ///< target x target x fold
  std::size_t fallbacks = 0;
  std::size_t folds = 0;
};

/// The candidates of all folds: one T, c and setting is chosen for a set, by the mean of the folds'
/// validation parts.
class Choice {
 public:
  /// Whether a method got better on validation.
  bool add(const std::vector<std::vector<Candidate>>& folds) {
    bool is_better = false;
    for (std::size_t i = 0; i < folds[0].size(); ++i) {
      double validation = 0.0;
      for (const auto& fold : folds) validation += fold[i].validation / static_cast<double>(folds.size());
      Best& best = best_[folds[0][i].method];
      if (validation <= best.validation + 1e-12) continue;
      is_better = true;
      best = {validation, {}};
      for (const auto& fold : folds) best.folds.push_back(fold[i]);
    }
    return is_better;
  }

  SetResult result(std::size_t column) const {
    SetResult result;
    for (const auto& [name, best] : best_) {
      result.choices[name] = best.folds[0].choice;
      result.validations[name] = best.validation;
      auto& ndcg = result.ndcg[name];
      ndcg.resize(kDepth, 0.0);
      const auto folds = static_cast<double>(best.folds.size());
      for (const Candidate& fold : best.folds) {
        const auto queries = static_cast<double>(fold.values.size());
        double sum = 0.0;
        for (const auto& query : fold.values) {
          sum += query[column] / queries;
          for (std::size_t k = 0; k < kDepth; ++k) ndcg[k] += query[k] / queries / folds;
        }
        result.fold_means[name].push_back(sum);
      }
    }
    return result;
  }

 private:
  struct Best {
    double validation = -1.0;
    std::vector<Candidate> folds;
  };
  std::map<std::string, Best> best_;
};

void add_diversity(const FoldRunner& runner, SetResult& result) {
  result.p.resize(5, std::vector<std::vector<double>>(5));
  const auto& scores = runner.sigmoid_scores();
  for (std::size_t a = 0; a < 5; ++a)
    for (std::size_t b = a + 1; b < 5; ++b)
      result.p[a][b].push_back(evaluation::paired_t_test(scores[a], scores[b]));
}

Result<SetResult> run_set(const DataSet& set, const Plan& plan, const ExperimentOptions& options, int folds,
                          const std::function<void()>& step_done) {
  std::vector<FoldData> data;
  std::vector<std::vector<Candidate>> rankboost;
  for (int fold = 1; fold <= folds; ++fold) {
    TRY(auto read, read_fold(set, options.data, fold));
    data.push_back(std::move(read));
    TRY(auto candidates, rankboost_candidates(data.back(), plan, set.mode));
    rankboost.push_back(std::move(candidates));
  }
  Choice choice;
  choice.add(rankboost);
  std::vector<std::vector<Candidate>> orders;
  for (const FoldData& fold : data) orders.push_back({order_candidate(fold, set.mode)});
  choice.add(orders);
  std::vector<std::unique_ptr<FoldRunner>> runners;
  for (const FoldData& fold : data)
    runners.push_back(std::make_unique<FoldRunner>(fold, plan, set.mode, runners.size()));
  std::size_t without_gain = 0;
  for (const std::size_t rounds : plan.round_counts) {
    std::vector<std::vector<Candidate>> candidates;
    if (without_gain < 2 || !plan.stops_early) {
      for (const auto& runner : runners) candidates.push_back(runner->run_to(rounds));
      without_gain = choice.add(candidates) ? 0 : without_gain + 1;
    }
    step_done();
  }
  SetResult result = choice.result(set.measure == "mean_ndcg" ? kDepth : kDepth - 1);
  for (const auto& runner : runners) {
    add_diversity(*runner, result);
    result.fallbacks += runner->fallbacks();
  }
  result.folds = runners.size();
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
  const auto add_row = [&](const std::string& name, const std::string& published, double figure) {
    const auto found = result.fold_means.find(name);
    std::vector<std::string> row = {name, "-", published, "-"};
    if (found != result.fold_means.end()) {
      row[1] = fixed(mean(found->second), 4);
      if (published != "-") row[3] = fixed(mean(found->second) - figure, 4);
      for (const double value : found->second) row.push_back(fixed(value, 4));
    }
    row.resize(rows[0].size(), "");
    rows.push_back(std::move(row));
  };
  for (const auto& [name, published] : set.published) add_row(name, fixed(published, 4), published);
  add_row(kFileOrder, "-", 0.0);
  std::string text = columns(rows) + "\nchosen by the mean of the folds' validation parts (NDCG@10 there):\n";
  for (const char* name : kRows)
    text += std::string("  ") + name + ": " + result.choices.at(name) + " (" +
            fixed(result.validations.at(name), 4) + ")\n";
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
  std::vector<evaluation::Curve> curves;
  std::vector<double> ranks(kDepth);
  std::iota(ranks.begin(), ranks.end(), 1.0);
  for (const char* name : kRows) curves.push_back({name, ranks, result.ndcg.at(name)});
  return evaluation::svg_plot(curves, {set.name + ": NDCG@k (fig. 2)", "k", "NDCG@k", false});
}

JsonObject json_of(const DataSet& set, const SetResult& result) {
  JsonObject rows;
  for (const auto& [name, values] : result.fold_means) {
    const auto& ndcg = result.ndcg.at(name);
    rows[name] = JsonObject{{"mean", mean(values)},
                            {"validation", result.validations.at(name)},
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
  constexpr int kFolds = 5;
  const auto sets = data_sets(options.data);
  PaperReport report;
  report.name = "calibrated";
  report.title = "Calibrated AdaBoost.MH (Busa-Fekete et al. 2011)";
  JsonArray json;
  std::size_t done = 0;
  for (const DataSet& set : sets) {
    const auto result = run_set(set, plan, options, kFolds, [&] {
      if (options.progress) options.progress(++done, sets.size() * plan.round_counts.size());
    });
    if (!result) return result.error();
    report.text += table_of(set, *result) + "\n" + diversity_of(*result) + "\n";
    report.plots.push_back(plot_of(set, *result));
    json.push_back(json_of(set, *result));
    add_claims(set, *result, report);
  }
  if (sets.size() == 2)
    report.text += "MQ2007 is left out: put its parts S1.txt to S5.txt into letor4-MQ2007 below --data\n";
  report.json["sets"] = std::move(json);
  return deliver(std::move(report), options);
}

}  // namespace metafuse::experiments::calibrated
