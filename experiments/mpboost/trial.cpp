#include "experiments/mpboost/trial.h"

#include <memory>

#include "core/parallel.h"
#include "experiments/progress_counter.h"
#include "fusion/data/graded_order.h"
#include "fusion/learners/mpboost/boost.h"
#include "fusion/learners/mpboost/selection.h"
#include "fusion/training/registry.h"

namespace metafuse::experiments::mpboost {
namespace {

using fusion::TrainingSet;
using fusion::WeakRanking;
using fusion::mpboost::Distance;

constexpr Distance kDistances[] = {Distance::binary, Distance::ldd, Distance::logdd, Distance::logitdd};

/// Mean over all queries; one without relevant documents counts 0, as LETOR 3.0 has it.
std::vector<double> mean_over_queries(const TrainingSet& set, const std::vector<double>& scores) {
  std::vector<double> mean(kDepth, 0.0);
  for (const std::vector<double>& row : fusion::ndcg_by_query(set, scores, kDepth))
    for (std::size_t k = 0; k < kDepth; ++k) mean[k] += row[k] / static_cast<double>(set.queries.size());
  return mean;
}

Trial follow(const std::vector<WeakRanking>& rankings, std::size_t rounds, const Split& fold) {
  Trial trial;
  std::vector<double> validate(fold.validate.matrix.document_count(), 0.0);
  std::vector<double> test(fold.test.matrix.document_count(), 0.0);
  for (std::size_t t = 1; t <= rounds; ++t) {
    if (t <= rankings.size()) {
      fusion::add_to_scores(fold.validate.matrix, rankings[t - 1], validate);
      fusion::add_to_scores(fold.test.matrix, rankings[t - 1], test);
      const double ndcg = mean_over_queries(fold.validate, validate)[kChosenBy - 1];
      if (ndcg > trial.validation) {
        trial.validation = ndcg;
        trial.rounds = t;
        trial.ndcg = mean_over_queries(fold.test, test);
      }
    }
    if (t % kStep == 0) trial.curve.push_back(mean_over_queries(fold.test, test)[kChosenBy - 1]);
  }
  return trial;
}

Result<Trial> run_trial(const Split& fold, std::size_t form, double parameter, std::size_t rounds) {
  std::vector<WeakRanking> rankings;
  double mean_distance = 1.0;
  if (form == 0) {
    fusion::TrainingRequest request;
    request.train = &fold.train;
    request.options = {{"rounds", std::to_string(rounds)}, {"max-thresholds", "all"}};
    TRY(const auto result, fusion::find_learner("rankboost")->train(request));
    const auto ranker = std::dynamic_pointer_cast<const fusion::StepRanker>(result.model.ranker);
    if (!ranker) return fail(Code::internal, "RankBoost's model is no sum of thresholded features");
    rankings = ranker->rankings();
  } else {
    fusion::mpboost::BoostOptions options;
    options.distance = kDistances[form - 1];
    options.parameter = parameter;
    options.rounds = rounds;
    TRY(const auto run, fusion::mpboost::boost_stumps(fold.train, options));
    for (const fusion::mpboost::BoostRound& round : run.rounds) rankings.push_back(round.weak_ranking);
    mean_distance = run.mean_distance;
  }
  Trial trial = follow(rankings, rounds, fold);
  trial.parameter = parameter;
  trial.mean_distance = mean_distance;
  return trial;
}

}  // namespace

std::string form_name(std::size_t form) {
  constexpr const char* kNames[] = {"RankBoost", "MPBoost.BINARY", "MPBoost.LDD", "MPBoost.LOGDD",
                                    "MPBoost.LOGITDD"};
  return kNames[form];
}

std::vector<double> Outcome::mean_ndcg(std::size_t form) const {
  std::vector<double> mean(kDepth, 0.0);
  for (const Trial& trial : trials[form])
    for (std::size_t k = 0; k < kDepth; ++k)
      mean[k] += trial.ndcg[k] / static_cast<double>(trials[form].size());
  return mean;
}

std::vector<double> Outcome::mean_curve(std::size_t form) const {
  std::vector<double> mean(trials[form][0].curve.size(), 0.0);
  for (const Trial& trial : trials[form])
    for (std::size_t t = 0; t < mean.size(); ++t)
      mean[t] += trial.curve[t] / static_cast<double>(trials[form].size());
  return mean;
}

Result<Outcome> compare(std::string name, const std::vector<Split>& folds, const Plan& plan,
                        const ExperimentOptions& options) {
  struct Job {
    std::size_t form, fold;
    double parameter;
  };
  std::vector<Job> jobs;
  for (std::size_t fold = 0; fold < folds.size(); ++fold) {
    jobs.push_back({0, fold, 1.0});
    for (std::size_t form = 1; form < kForms; ++form) {
      std::vector<double> grid = fusion::mpboost::parameter_grid(kDistances[form - 1]);
      if (plan.is_quick) grid = {fusion::mpboost::default_parameter(kDistances[form - 1])};
      for (const double parameter : grid) jobs.push_back({form, fold, parameter});
    }
  }
  std::vector<Result<Trial>> results(jobs.size(), Trial{});
  ProgressCounter progress(options.progress, jobs.size());
  parallel_for(jobs.size(), options.threads, [&](std::size_t i) {
    results[i] = run_trial(folds[jobs[i].fold], jobs[i].form, jobs[i].parameter, plan.rounds);
    progress.add();
  });
  Outcome outcome{std::move(name), std::vector<std::vector<Trial>>(kForms, std::vector<Trial>(folds.size()))};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!results[i]) return results[i].error();
    Trial& best = outcome.trials[jobs[i].form][jobs[i].fold];
    if (results[i]->validation > best.validation) best = std::move(*results[i]);
  }
  for (const auto& form : outcome.trials)
    for (const Trial& trial : form)
      if (trial.ndcg.empty()) return fail(Code::bad_data, outcome.name + ": a fold trained no weak ranking");
  return outcome;
}

}  // namespace metafuse::experiments::mpboost
