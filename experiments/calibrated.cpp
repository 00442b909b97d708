// Runs the calibrated experiment over sets and folds: chooses on validation, fills in table 2 and fig. 3, and
// judges the paper's claims. calibrated_fold.cpp does the work within a fold.
#include "experiments/calibrated.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include <boost/math/distributions/chi_squared.hpp>
#include <fmt/format.h>

#include "evaluation/significance/significance.h"
#include "experiments/experiment.h"
#include "experiments/report.h"

namespace metafuse::experiments {
namespace calibrated {
namespace {

using fusion::adaboost_mh::BaseKind;
using fusion::adaboost_mh::kSigmoidTargets;
using fusion::adaboost_mh::name_of;

constexpr const char* kRows[] = {
    "ensemble, CPC",         "ensemble, RBC", "ensemble, CPC+RBC", "AdaBoost.MH, trees",
    "AdaBoost.MH, products", "RankBoost",     kEqualRankBoost,     kAutoRow};
constexpr const char* kFileOrder = "the files' own order";
constexpr std::size_t kDepth = 10;
constexpr int kFolds = 5;
constexpr std::size_t kTargets = std::size(kSigmoidTargets);

}  // namespace

Plan plan_of(const ExperimentOptions& options) {
  Plan plan;
  plan.threads = options.threads;
  plan.seed = options.seed;
  plan.settings = fusion::adaboost_mh::all_settings();
  plan.round_counts = {10, 20, 50, 100, 200, 500, 1000};
  plan.rankboost_rounds = {25, 50, 100, 200};
  if (options.is_full()) {
    plan.round_counts.insert(plan.round_counts.end(), {2000, 5000, 10000});
    plan.stops_early = false;
  }
  if (options.is_quick()) {
    plan.settings = {{BaseKind::tree, 5},    {BaseKind::tree, 15},   {BaseKind::tree, 30},
                     {BaseKind::product, 2}, {BaseKind::product, 5}, {BaseKind::product, 10}};
    plan.round_counts = {10, 20, 50, 100};
    plan.rankboost_rounds = {25, 50, 100};
    plan.process_points = 200;
  }
  return plan;
}

namespace {

/// Chooses among the candidates of all folds: either one T, c and setting for the whole set, by the mean over
/// the folds' validation parts, or one per fold by its own.
class Choice {
 public:
  explicit Choice(bool is_by_fold) : is_by_fold_(is_by_fold) {}

  /// Adds candidates; tells whether some method got better on validation.
  bool add(const std::vector<std::vector<Candidate>>& folds) {
    bool is_better = false;
    if (is_by_fold_) {
      for (std::size_t fold = 0; fold < folds.size(); ++fold)
        for (const Candidate& candidate : folds[fold]) {
          Best& best = best_[candidate.method];
          if (best.folds.empty()) best = {0.0, std::vector<Candidate>(folds.size())};
          if (candidate.validation <= best.folds[fold].validation + 1e-12 && !best.folds[fold].values.empty())
            continue;
          is_better = true;
          best.validation +=
              (candidate.validation - best.folds[fold].validation) / static_cast<double>(folds.size());
          best.folds[fold] = candidate;
        }
      return is_better;
    }
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

  /// in: column - the column of the paper's measure
  std::map<std::string, MethodResult> results(std::size_t column) const {
    std::map<std::string, MethodResult> results;
    for (const auto& [name, best] : best_) {
      MethodResult result{best.folds[0].choice, best.validation, {}, std::vector<double>(kDepth, 0.0)};
      const auto folds = static_cast<double>(best.folds.size());
      for (const Candidate& fold : best.folds) {
        const auto queries = static_cast<double>(fold.values.size());
        double sum = 0.0;
        for (const auto& query : fold.values) {
          sum += query[column] / queries;
          for (std::size_t k = 0; k < kDepth; ++k) result.ndcg[k] += query[k] / queries / folds;
        }
        result.fold_means.push_back(sum);
      }
      results[name] = std::move(result);
    }
    return results;
  }

 private:
  struct Best {
    double validation = -1.0;
    std::vector<Candidate> folds;
  };
  bool is_by_fold_;
  std::map<std::string, Best> best_;
};

}  // namespace

Result<std::vector<FoldData>> read_folds(const DataSet& set, const std::string& data) {
  std::vector<FoldData> folds;
  for (int fold = 1; fold <= kFolds; ++fold) {
    TRY(auto read, read_fold(set, data, fold));
    folds.push_back(std::move(read));
  }
  return folds;
}

Result<SetResult> run_set(const DataSet& set, const std::vector<FoldData>& folds, const Plan& plan,
                          const std::function<void()>& step_done) {
  std::vector<std::vector<Candidate>> rankboost, orders;
  for (const FoldData& fold : folds) {
    TRY(auto candidates, rankboost_candidates(fold, plan, set.mode));
    rankboost.push_back(std::move(candidates));
    orders.push_back({order_candidate(fold, set.mode)});
  }
  Choice choice(plan.chooses_by_fold);
  choice.add(rankboost);
  choice.add(orders);
  std::vector<std::unique_ptr<FoldRunner>> runners;
  for (const FoldData& fold : folds)
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
  SetResult result{choice.results(set.measure == "mean_ndcg" ? kDepth : kDepth - 1),
                   {kTargets, std::vector<std::vector<double>>(kTargets)},
                   0};
  for (const auto& runner : runners) {
    const auto& scores = runner->sigmoid_scores();
    for (std::size_t a = 0; a < kTargets; ++a)
      for (std::size_t b = a + 1; b < kTargets; ++b)
        result.p[a][b].push_back(evaluation::paired_t_test(scores[a], scores[b]));
    result.fallbacks += runner->fallbacks();
  }
  return result;
}

namespace {

/// Fisher's method: combines independent p values into one.
double fisher(const std::vector<double>& p) {
  double sum = 0.0;
  for (const double each : p) sum -= 2.0 * std::log(std::max(each, 1e-300));
  return boost::math::cdf(
      boost::math::complement(boost::math::chi_squared(2.0 * static_cast<double>(p.size())), sum));
}

std::string table_of(const DataSet& set, const SetResult& result) {
  Table table{{{set.name + ", " + set.measure, "here", "paper", "difference"}}};
  for (int fold = 1; fold <= kFolds; ++fold) table.rows[0].push_back("fold " + std::to_string(fold));
  auto lines = set.published;
  lines.emplace_back(kEqualRankBoost, std::nan(""));
  lines.emplace_back(kAutoRow, std::nan(""));
  lines.emplace_back(kFileOrder, std::nan(""));
  for (const auto& [name, published] : lines) {
    const std::string paper = std::isnan(published) ? "-" : fixed(published, 4);
    std::vector<std::string> row = {name, "-", paper, "-"};
    if (const auto found = result.methods.find(name); found != result.methods.end()) {
      const double own = mean_of(found->second.fold_means);
      row[1] = fixed(own, 4);
      if (!std::isnan(published)) row[3] = fixed(own - published, 4);
      for (const double value : found->second.fold_means) row.push_back(fixed(value, 4));
    }
    row.resize(table.rows[0].size(), "");
    table.add(std::move(row));
  }
  std::string text = table.text() + "\nchosen by the mean of the folds' validation parts (NDCG@10 there):\n";
  for (const char* name : kRows)
    text += fmt::format("  {}: {} ({:.4f})\n", name, result.methods.at(name).choice,
                        result.methods.at(name).validation);
  if (result.fallbacks > 0)
    text +=
        fmt::format("{} calibrations had constant votes and fell back to the mean gain\n", result.fallbacks);
  return text;
}

/// Fig. 3.
std::string diversity_of(const SetResult& result) {
  Table table{{{"p, CPC against CPC"}}};
  for (const auto target : kSigmoidTargets) table.rows[0].emplace_back(name_of(target));
  for (std::size_t a = 0; a < kTargets; ++a) {
    std::vector<std::string> row = {std::string(name_of(kSigmoidTargets[a]))};
    for (std::size_t b = 0; b < kTargets; ++b)
      row.push_back(a < b ? fixed(fisher(result.p[a][b]), 4) : a == b ? "1" : "");
    table.add(std::move(row));
  }
  return table.text();
}

void describe(const DataSet& set, const SetResult& result, PaperReport& report, JsonArray& json) {
  report.text += table_of(set, result) + "\n" + diversity_of(result) + "\n";
  std::vector<evaluation::Curve> curves;
  for (const char* name : kRows) curves.push_back(curve_of(name, result.methods.at(name).ndcg));
  report.plot(curves, set.name + ": NDCG@k (fig. 2)", "k", "NDCG@k");
  JsonObject rows;
  for (const auto& [name, method] : result.methods)
    rows[name] = JsonObject{{"mean", mean_of(method.fold_means)},
                            {"validation", method.validation},
                            {"folds", json_array(method.fold_means)},
                            {"ndcg_at", json_array(method.ndcg)}};
  for (const auto& [name, published] : set.published)
    if (rows.contains(name)) rows[name].as_object()["published"] = published;
  json.push_back(JsonObject{{"set", set.name}, {"measure", set.measure}, {"rows", std::move(rows)}});
}

void add_claims(const DataSet& set, const SetResult& result, PaperReport& report) {
  const auto value = [&](const std::string& name) { return mean_of(result.methods.at(name).fold_means); };
  for (const auto& [name, published] : set.published)
    if (name.starts_with("ensemble"))
      report.judge(fmt::format("{}: {} within .01 of the published figure, or above", set.name, name),
                   value(name) >= published - 0.01,
                   fmt::format("{:.4f}, published {:.4f}", value(name), published));
  const double own = value("ensemble, CPC+RBC");
  const double trees = value("AdaBoost.MH, trees");
  const double products = value("AdaBoost.MH, products");
  report.judge(set.name + ": calibration and ensemble improve on plain AdaBoost.MH",
               own > std::max(trees, products),
               fmt::format("{:.4f} against {:.4f} and {:.4f}", own, trees, products));
  const double least = std::min({own, value("ensemble, CPC"), value("ensemble, RBC")});
  for (const char* name : {"RankBoost", kEqualRankBoost, kAutoRow})
    report.judge(fmt::format("{}: all three ensembles are above {} as trained here", set.name, name),
                 least > value(name),
                 fmt::format("the least has {:.4f}, {} {:.4f}", least, name, value(name)));
}

}  // namespace
}  // namespace calibrated

Result<std::string> run_calibrated(const ExperimentOptions& options) {
  using namespace calibrated;
  const Plan plan = plan_of(options);
  const auto sets = data_sets(options.data);
  PaperReport report;
  report.name = "calibrated";
  report.title = "Calibrated AdaBoost.MH (Busa-Fekete et al. 2011)";
  JsonArray json;
  std::size_t done = 0;
  for (const DataSet& set : sets) {
    TRY(const auto folds, read_folds(set, options.data));
    TRY(const auto result, run_set(set, folds, plan, [&] {
          if (options.progress) options.progress(++done, sets.size() * plan.round_counts.size());
        }));
    describe(set, result, report, json);
    add_claims(set, result, report);
  }
  if (sets.size() == 2)
    report.text += "MQ2007 is left out: put its parts S1.txt to S5.txt into letor4-MQ2007 below --data\n";
  report.json["sets"] = std::move(json);
  return deliver(std::move(report), options);
}

}  // namespace metafuse::experiments
