#include "experiments/mpboost/experiment.h"

#include <numeric>

#include "core/random.h"
#include "experiments/mpboost/claims.h"
#include "experiments/mpboost/figures.h"
#include "experiments/mpboost/trial.h"
#include "fusion/data/training_subset.h"

namespace metafuse::experiments {
namespace {

using namespace mpboost;

Result<std::vector<Split>> ohsumed_folds(const std::string& data, std::size_t count) {
  std::vector<Split> folds;
  for (std::size_t f = 0; f < count; ++f) {
    TRY(auto split, read_letor_split(data + "/letor3-OHSUMED/QueryLevelNorm", f));
    folds.push_back(std::move(split));
  }
  return folds;
}

/// Random fifths of the sample's queries, three to train, one to validate, one to test.
Result<std::vector<Split>> mslr_folds(const std::string& data, std::size_t count, std::uint64_t seed) {
  TRY(auto set, read_letor({data + "/mslr-web10k-sample/fold1_test_sample.txt",
                            data + "/mslr-web10k-sample/fold1_valid_sample.txt"}));
  std::vector<std::size_t> order(set.queries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random(seed).shuffle(order);
  std::vector<Split> folds;
  for (std::size_t f = 0; f < count; ++f) {
    const auto parts = turn_of_fifths(order, f);
    folds.push_back({fusion::select_queries(set, parts[0]), fusion::select_queries(set, parts[1]),
                     fusion::select_queries(set, parts[2])});
  }
  return folds;
}

}  // namespace

Result<std::string> run_mpboost(const ExperimentOptions& options) {
  Plan plan;
  plan.is_quick = options.size == ExperimentOptions::Size::quick;
  if (plan.is_quick) plan = {60, 1, true};
  if (options.size == ExperimentOptions::Size::full) plan.rounds = 1000;
  PaperReport report;
  report.name = "mpboost";
  report.title = "MPBoost (Zhu et al. 2009)";
  report.text = "Mean over " + std::to_string(plan.folds) + " folds; parameter and rounds (up to " +
                std::to_string(plan.rounds) + ") chosen by NDCG@5 on validation.\n\n";
  TRY(const auto published, read_published_ndcg(options.data + "/letor3-baselines/OHSUMED.csv"));
  TRY(const auto ohsumed, ohsumed_folds(options.data, plan.folds));
  TRY(const auto first, compare("OHSUMED", ohsumed, plan, options));
  describe(first, published, report);
  claims_of_ohsumed(first, published, report);
  TRY(const auto mslr, mslr_folds(options.data, plan.folds, options.seed));
  TRY(const auto second, compare("MSLR sample", mslr, plan, options));
  describe(second, {}, report);
  claims_of_web(second, report);
  distance_figure(report);
  report.claims.push_back(
      untestable("fig. 4, Web-1 (real-valued grades)", "Yandex's 2009 contest data is not to be had here"));
  report.claims.push_back(untestable("fig. 5 and 6 on Web-2 itself",
                                     "a commercial data set; 36 queries of MSLR-WEB10K stand in, "
                                     "which also has five grades"));
  return deliver(std::move(report), options);
}

}  // namespace metafuse::experiments
