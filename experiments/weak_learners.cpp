#include "experiments/weak_learners.h"

#include <filesystem>
#include <map>
#include <memory>

#include "core/parallel.h"
#include "evaluation/reports/svg_plot.h"
#include "evaluation/significance/folds.h"
#include "experiments/home_pages/indexed_pages.h"
#include "experiments/interval.h"
#include "experiments/paper_report.h"
#include "experiments/split.h"
#include "fusion/data/training_subset.h"
#include "fusion/input/training_input.h"
#include "fusion/learners/rankboost_plus/losses.h"
#include "fusion/model/weak_ranking.h"
#include "fusion/training/registry.h"

namespace metafuse::experiments {
namespace {

using fusion::TrainingSet;
using fusion::rankboost_plus::PairRows;

constexpr std::size_t kFolds = 4;
constexpr const char* kLearners[] = {"2", "3", "2.cum", "3.cum"};
constexpr std::size_t kLearnerCount = 4;

/// Ranking loss by round, the first entry before any round.
struct LossCurves {
  std::vector<double> train, test;
};

/// The loss after each round; what a run that ended early keeps stays as it is.
Result<std::vector<double>> losses_of(const TrainingSet& set, const std::vector<fusion::WeakRanking>& rounds,
                                      std::size_t count) {
  TRY(const auto pairs, fusion::rankboost_plus::pair_rows(set, static_cast<std::size_t>(-1)));
  std::vector<double> scores(set.matrix.document_count(), 0.0);
  std::vector<double> losses = {0.5};
  for (std::size_t t = 0; t < count; ++t) {
    if (t < rounds.size())
      for (std::size_t x = 0; x < scores.size(); ++x) {
        const fusion::WeakRanking& h = rounds[t];
        const bool is_unranked = set.matrix.is_unranked(x, h.feature);
        const double value = is_unranked                                    ? h.q_default
                             : set.matrix.value(x, h.feature) > h.threshold ? 1.0
                                                                            : 0.0;
        scores[x] += h.alpha * value;
      }
    losses.push_back(t < rounds.size() ? fusion::rankboost_plus::rank_losses(pairs, scores).r2
                                       : losses.back());
  }
  return losses;
}

Result<LossCurves> run_fold(const TrainingSet& train, const TrainingSet& test, const char* learner,
                            std::size_t rounds, std::uint64_t seed) {
  fusion::TrainingRequest request;
  request.train = &train;
  request.seed = seed;
  request.options = {{"rounds", std::to_string(rounds)}, {"weak-learner", learner}, {"q-default", "0"}};
  TRY(const auto result, fusion::find_learner("rankboost")->train(request));
  const auto ranker = std::dynamic_pointer_cast<const fusion::StepRanker>(result.model.ranker);
  if (!ranker) return fail(Code::internal, "RankBoost's model is no sum of thresholded features");
  TRY(auto train_losses, losses_of(train, ranker->rankings(), rounds));
  TRY(auto test_losses, losses_of(test, ranker->rankings(), rounds));
  return LossCurves{std::move(train_losses), std::move(test_losses)};
}

struct Folding {
  std::vector<TrainingSet> train, test;
};

Result<Folding> split(const TrainingSet& set, std::size_t used, std::uint64_t seed) {
  std::vector<std::string_view> ids;
  for (const fusion::QueryRange& query : set.queries) ids.emplace_back(query.id);
  TRY(const auto folds, evaluation::random_folds(ids, kFolds, seed));
  Folding folding;
  for (std::size_t fold = 0; fold < used; ++fold) {
    std::vector<std::size_t> inside, outside;
    for (std::size_t q = 0; q < ids.size(); ++q) (folds.fold_of[q] == fold ? inside : outside).push_back(q);
    folding.train.push_back(fusion::select_queries(set, outside));
    folding.test.push_back(fusion::select_queries(set, inside));
  }
  return folding;
}

/// Mean curves of the four weak learners.
Result<std::vector<LossCurves>> mean_curves(const TrainingSet& set, std::size_t rounds, std::size_t folds,
                                            const ExperimentOptions& options) {
  TRY(const auto folding, split(set, folds, options.seed));
  std::vector<Result<LossCurves>> runs(kLearnerCount * folds, LossCurves{});
  parallel_for(runs.size(), options.threads, [&](std::size_t i) {
    const std::size_t fold = i % folds;
    runs[i] = run_fold(folding.train[fold], folding.test[fold], kLearners[i / folds], rounds, options.seed);
  });
  std::vector<LossCurves> means(kLearnerCount);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i]) return runs[i].error();
    LossCurves& mean = means[i / folds];
    mean.train.resize(rounds + 1, 0.0);
    mean.test.resize(rounds + 1, 0.0);
    for (std::size_t t = 0; t <= rounds; ++t) {
      mean.train[t] += runs[i]->train[t] / static_cast<double>(folds);
      mean.test[t] += runs[i]->test[t] / static_cast<double>(folds);
    }
  }
  return means;
}

std::vector<evaluation::Curve> curves_of(const std::vector<LossCurves>& means,
                                         std::vector<double> LossCurves::*which) {
  std::vector<evaluation::Curve> curves;
  for (std::size_t l = 0; l < kLearnerCount; ++l) {
    evaluation::Curve curve{std::string("WeakLearn.") + kLearners[l], {}, {}};
    for (std::size_t t = 0; t < (means[l].*which).size(); ++t) {
      curve.x.push_back(static_cast<double>(t));
      curve.y.push_back((means[l].*which)[t]);
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

void describe(const std::string& name, const std::vector<LossCurves>& means, PaperReport& report) {
  const std::size_t rounds = means[0].train.size() - 1;
  std::vector<std::vector<std::string>> rows = {{name + ": ranking loss after"}};
  std::vector<std::size_t> stops;
  for (const std::size_t t : {10U, 25U, 50U, 100U, 200U, 500U, 1000U})
    if (t <= rounds) stops.push_back(t);
  for (const std::size_t t : stops) rows[0].push_back(std::to_string(t));
  JsonObject json;
  for (std::size_t l = 0; l < kLearnerCount; ++l) {
    const std::string learner = std::string("WeakLearn.") + kLearners[l];
    rows.push_back({learner + " train"});
    for (const std::size_t t : stops) rows.back().push_back(fixed(means[l].train[t], 5));
    rows.push_back({learner + " test"});
    for (const std::size_t t : stops) rows.back().push_back(fixed(means[l].test[t], 5));
    json[learner] = JsonObject{{"train", JsonArray(means[l].train.begin(), means[l].train.end())},
                               {"test", JsonArray(means[l].test.begin(), means[l].test.end())}};
  }
  report.text += columns(rows);
  report.json[name] = std::move(json);
  report.plots.push_back(evaluation::svg_plot(curves_of(means, &LossCurves::train),
                                              {name + ": training loss", "round", "ranking loss", false}));
  report.plots.push_back(evaluation::svg_plot(curves_of(means, &LossCurves::test),
                                              {name + ": test loss", "round", "ranking loss", false}));
}

void add_claims(const std::string& name, const std::vector<LossCurves>& means, PaperReport& report) {
  const auto train = [&](std::size_t l) { return means[l].train.back(); };
  const auto test = [&](std::size_t l) { return means[l].test.back(); };
  const auto list = [](double a, double b, double c, double d) {
    return "2: " + fixed(a, 5) + ", 3: " + fixed(b, 5) + ", 2.cum: " + fixed(c, 5) +
           ", 3.cum: " + fixed(d, 5);
  };
  const std::string train_list = list(train(0), train(1), train(2), train(3));
  const std::string test_list = list(test(0), test(1), test(2), test(3));
  report.claims.push_back(
      judged(name + ": WeakLearn.2 has the lowest training loss, then 3, then the .cum forms",
             train(0) <= train(1) && train(1) <= std::min(train(2), train(3)), train_list));
  report.claims.push_back(judged(name + ": the .cum forms have the lowest test loss",
                                 std::max(test(2), test(3)) < std::min(test(0), test(1)), test_list));
  const double apart = std::abs(test(2) - test(3));
  report.claims.push_back(
      judged(name + ": 2.cum and 3.cum are nearly identical on test data (within 2 % of the loss)",
             apart <= 0.02 * test(3), "apart by " + fixed(apart, 5)));
  double rise[kLearnerCount];
  for (std::size_t l = 0; l < kLearnerCount; ++l)
    rise[l] = test(l) - *std::min_element(means[l].test.begin(), means[l].test.end());
  report.claims.push_back(judged(
      name + ": the .cum forms resist overfitting (test loss rises less above its least value)",
      std::max(rise[2], rise[3]) < std::min(rise[0], rise[1]), list(rise[0], rise[1], rise[2], rise[3])));
}

}  // namespace

Result<std::string> run_weak_learners(const ExperimentOptions& options) {
  const bool is_quick = options.size == ExperimentOptions::Size::quick;
  const std::size_t rounds = is_quick ? 60 : options.size == ExperimentOptions::Size::full ? 1000 : 200;
  const std::size_t folds = is_quick ? 1 : kFolds;
  PaperReport report;
  report.name = "weak-learners";
  report.title = "RankBoost's four weak learners (Freund et al. 2003, fig. 4)";
  fusion::TrainingInput input;
  for (int part = 1; part <= 5; ++part)
    input.letor_ranks.push_back(
        with_packing(options.data + "/letor4-agg/MQ2008-agg/A" + std::to_string(part) + ".txt"));
  TRY(auto letor, fusion::read_training_set(input));
  std::vector<std::pair<std::string, TrainingSet>> sets;
  sets.emplace_back("MQ2008-agg", std::move(letor));
  const bool has_demonstration = std::filesystem::exists(options.data + "/packages.txt");
  if (has_demonstration) {
    TRY(auto pages, home_pages::IndexedPages::open(options.data));
    home_pages::SampleOptions sampling;
    sampling.seed = options.seed + 1;
    if (is_quick) sampling.count = 300;
    TRY(auto sample, pages->record(sampling, options.threads));
    sets.emplace_back("home pages", std::move(sample));
  }
  for (std::size_t i = 0; i < sets.size(); ++i) {
    TRY(const auto means, mean_curves(sets[i].second, rounds, folds, options));
    describe(sets[i].first, means, report);
    add_claims(sets[i].first, means, report);
    if (options.progress) options.progress(i + 1, sets.size());
  }
  if (!has_demonstration)
    report.claims.push_back(
        untestable("the same on the demonstration's lists",
                   "the data folder has no packages.txt; apt-cache dumpavail > packages.txt makes it"));
  report.claims.push_back(
      untestable("the ML and UNIV domains' own curves", "AltaVista and the lists are gone"));
  return deliver(std::move(report), options);
}

}  // namespace metafuse::experiments
