// Training and test loss of RankBoost's four weak learners by round (Freund et al. 2003, fig. 4), four-fold,
// on MQ2008-agg and, if options.data contains packages.txt, on the demonstration's recorded lists; there also
// the losses after 1,000 rounds by the number of base queries, because overfitting depends on the amount of
// feedback. Quick: one fold and 60 rounds. Normal and full: 1,000 rounds.
#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "fusion/data/training_set.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/home_pages/home_pages.h"
#include "lab/experiments/judged_queries.h"
#include "lab/learners/rankboost_plus/pair_rows.h"

namespace metafuse::lab::experiments {
namespace weak_learners {
namespace {

using fusion::TrainingSet;

constexpr std::size_t kFolds = 4;
const std::array<std::string, 4> kLearners = {"2", "3", "2.cum", "3.cum"};

/// Ranking loss by round; the first entry is before any round.
struct Curves {
  std::vector<double> train, test;
};
using CurvesOfLearners = std::array<Curves, kLearners.size()>;

/// The loss after each round; a run that ended early keeps its last loss.
Result<std::vector<double>> losses_of(const TrainingSet& set, const std::vector<fusion::WeakRanking>& rounds,
                                      std::size_t count) {
  TRY(const auto pairs, lab::rankboost_plus::pair_rows(set, static_cast<std::size_t>(-1)));
  std::vector<double> scores(set.matrix.document_count(), 0.0);
  std::vector<double> losses = {0.5};
  for (std::size_t t = 0; t < count; ++t) {
    if (t >= rounds.size()) {
      losses.push_back(losses.back());
      continue;
    }
    fusion::add_to_scores(set.matrix, rounds[t], scores);
    losses.push_back(lab::rankboost_plus::rank_losses(pairs, scores).r2);
  }
  return losses;
}

Result<Curves> run_fold(const TrainingSet& train_set, const TrainingSet& test_set, const std::string& learner,
                        std::size_t rounds, std::uint64_t seed) {
  fusion::TrainingRequest request;
  request.seed = seed;
  TRY(const auto model,
      train({"rankboost",
             "",
             {{"rounds", std::to_string(rounds)}, {"weak-learner", learner}, {"q-default", "0"}}},
            train_set, request));
  TRY(const auto rankings, rounds_of(model));
  TRY(auto train_losses, losses_of(train_set, rankings, rounds));
  TRY(auto test_losses, losses_of(test_set, rankings, rounds));
  return Curves{std::move(train_losses), std::move(test_losses)};
}

struct Fold {
  TrainingSet train, test;
};

Result<std::vector<Fold>> folds_of(const TrainingSet& set, std::size_t used, std::uint64_t seed) {
  TRY(const auto part_of, random_parts(set, kFolds, seed));
  std::vector<Fold> folds;
  for (std::size_t fold = 0; fold < used; ++fold) {
    const auto [train_queries, test_queries] = divided(part_of, fold);
    folds.push_back({fusion::select_queries(set, train_queries), fusion::select_queries(set, test_queries)});
  }
  return folds;
}

/// The curves of the four weak learners, averaged over the folds.
Result<CurvesOfLearners> mean_curves(const TrainingSet& set, std::size_t rounds, std::size_t fold_count,
                                     const ExperimentOptions& options) {
  TRY(const auto folds, folds_of(set, fold_count, options.seed));
  TRY(const auto runs, run_all(kLearners.size() * fold_count, options, [&](std::size_t i) {
        const Fold& fold = folds[i % fold_count];
        return run_fold(fold.train, fold.test, kLearners[i / fold_count], rounds, options.seed);
      }));
  CurvesOfLearners means;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const auto which : {&Curves::train, &Curves::test}) {
      std::vector<double>& mean = means[i / fold_count].*which;
      mean.resize(rounds + 1, 0.0);
      for (std::size_t t = 0; t <= rounds; ++t)
        mean[t] += (runs[i].*which)[t] / static_cast<double>(fold_count);
    }
  return means;
}

void describe(const std::string& name, const CurvesOfLearners& means, Report& report) {
  Table table{{{name + ": ranking loss after"}}};
  std::vector<std::size_t> stops;
  for (const std::size_t t : {10U, 25U, 50U, 100U, 200U, 500U, 1000U})
    if (t < means[0].train.size()) stops.push_back(t);
  for (const std::size_t t : stops) table.rows[0].push_back(std::to_string(t));
  const auto add_row = [&](const std::string& title, const std::vector<double>& curve) {
    std::vector<double> values;
    for (const std::size_t t : stops) values.push_back(curve[t]);
    table.add(title, values, 5);
  };
  JsonObject json;
  std::vector<evaluation::Curve> train_curves, test_curves;
  for (std::size_t l = 0; l < kLearners.size(); ++l) {
    const std::string learner = "WeakLearn." + kLearners[l];
    add_row(learner + " train", means[l].train);
    add_row(learner + " test", means[l].test);
    json[learner] = JsonObject{{"train", json_array(means[l].train)}, {"test", json_array(means[l].test)}};
    train_curves.push_back(curve_of(learner, means[l].train, 0.0));
    test_curves.push_back(curve_of(learner, means[l].test, 0.0));
  }
  report.text += table.text();
  report.json[name] = std::move(json);
  report.plot(train_curves, name + ": training loss", "round", "ranking loss");
  report.plot(test_curves, name + ": test loss", "round", "ranking loss");
}

/// The last losses of the learners, or another number of each.
using Figures = std::array<double, kLearners.size()>;

/// Judges what fig. 4 shows at its last round.
/// in: where - the beginning of each claim
void judge_losses(const std::string& where, const Figures& train, const Figures& test, int digits,
                  Report& report) {
  report.judge(where + "WeakLearn.2 has the lowest training loss, then 3, then the .cum forms",
               train[0] <= train[1] && train[1] <= std::min(train[2], train[3]),
               named(kLearners, train, digits, ": "));
  report.judge(where + "the .cum forms have the lowest test loss",
               std::max(test[2], test[3]) < std::min(test[0], test[1]), named(kLearners, test, digits, ": "));
}

void add_claims(const std::string& name, const CurvesOfLearners& means, Report& report) {
  Figures train{}, test{}, rise{};
  for (std::size_t l = 0; l < kLearners.size(); ++l) {
    train[l] = means[l].train.back();
    test[l] = means[l].test.back();
    rise[l] = test[l] - least_of(means[l].test);
  }
  judge_losses(name + ": ", train, test, 5, report);
  const double apart = std::abs(test[2] - test[3]);
  report.judge(name + ": 2.cum and 3.cum are nearly identical on test data (within 2 % of the loss)",
               apart <= 0.02 * test[3], "apart by " + fixed(apart, 5));
  report.judge(name + ": the .cum forms resist overfitting (test loss rises less above its least value)",
               std::max(rise[2], rise[3]) < std::min(rise[0], rise[1]), named(kLearners, rise, 5, ": "));
}

/// Last losses, averaged over up to five disjoint blocks of `count` queries, which are
/// cross-validated separately.
struct BlockLosses {
  std::size_t blocks = 0;
  Figures train{}, test{};
};

Result<BlockLosses> losses_of_blocks(const TrainingSet& set, std::size_t count, std::size_t rounds,
                                     const ExperimentOptions& options) {
  constexpr std::size_t kMostBlocks = 5;
  BlockLosses losses;
  losses.blocks = std::min(kMostBlocks, set.queries.size() / count);
  for (std::size_t block = 0; block < losses.blocks; ++block) {
    std::vector<std::size_t> queries(count);
    std::iota(queries.begin(), queries.end(), block * count);
    TRY(const auto means, mean_curves(fusion::select_queries(set, queries), rounds, kFolds, options));
    for (std::size_t l = 0; l < kLearners.size(); ++l) {
      losses.train[l] += means[l].train.back() / static_cast<double>(losses.blocks);
      losses.test[l] += means[l].test.back() / static_cast<double>(losses.blocks);
    }
  }
  return losses;
}

/// Fig. 4 by the amount of feedback.
Result<void> query_counts_figure(const TrainingSet& set, const ExperimentOptions& options, Report& report) {
  const std::size_t rounds = options.is_quick() ? 60 : 1000;
  std::vector<std::size_t> counts = {50, 100, 200, 500, set.queries.size()};
  if (options.is_quick()) counts = {50, 100};
  Table table{{{fmt::format("home pages: ranking loss after {} rounds, by queries", rounds)}}};
  for (const char* part : {" train", " test"})
    for (const std::string& learner : kLearners) table.add({"WeakLearn." + learner + part});
  std::vector<evaluation::Curve> lines;
  for (const std::string& learner : kLearners) lines.push_back({"WeakLearn." + learner, {}, {}});
  JsonArray json;
  for (const std::size_t count : counts) {
    if (count > set.queries.size()) continue;
    TRY(const auto losses, losses_of_blocks(set, count, rounds, options));
    const auto& [blocks, train, test] = losses;
    table.rows[0].push_back(fmt::format("{} (x{})", count, blocks));
    for (std::size_t l = 0; l < kLearners.size(); ++l) {
      table.rows[1 + l].push_back(fixed(train[l], 4));
      table.rows[1 + kLearners.size() + l].push_back(fixed(test[l], 4));
      lines[l].x.push_back(static_cast<double>(count));
      lines[l].y.push_back(test[l]);
    }
    json.push_back(JsonObject{
        {"queries", count}, {"blocks", blocks}, {"train", json_array(train)}, {"test", json_array(test)}});
    judge_losses(fmt::format("home pages, {} queries, {} rounds: ", count, rounds), train, test, 4, report);
  }
  report.text += table.text();
  report.json["by queries"] = std::move(json);
  report.plot(lines, fmt::format("home pages: test loss after {} rounds", rounds), "queries", "ranking loss",
              true);
  return {};
}

Result<TrainingSet> record_home_pages(const ExperimentOptions& options) {
  TRY(const auto pages, home_pages::IndexedPages::open(options.data));
  home_pages::SampleOptions sampling;
  sampling.seed = options.seed + 1;
  if (options.is_quick()) sampling.count = 300;
  return pages->record(sampling, options.threads);
}

}  // namespace
}  // namespace weak_learners

Result<Report> run_weak_learners(const ExperimentOptions& options) {
  using namespace weak_learners;
  const std::size_t rounds = options.is_quick() ? 60 : 1000;
  const std::size_t folds = options.is_quick() ? 1 : kFolds;
  Report report;
  const auto add = [&](const std::string& name, const TrainingSet& set) -> Result<void> {
    TRY(const auto means, mean_curves(set, rounds, folds, options));
    describe(name, means, report);
    add_claims(name, means, report);
    return {};
  };
  TRY(const auto letor, read_judged_queries("MQ2008-agg", options));
  TRY_VOID(add(letor.name, letor.set));
  if (has_set(kHomePages, options, report)) {
    TRY(const auto sample, record_home_pages(options));
    TRY_VOID(add("home pages", sample));
    TRY_VOID(query_counts_figure(sample, options, report));
  }
  report.leave("the ML and UNIV domains' own curves", "AltaVista and the lists are gone");
  return report;
}

}  // namespace metafuse::lab::experiments
