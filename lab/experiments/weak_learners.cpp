// Training and test loss of RankBoost's four weak learners by round (Freund et al. 2003, fig. 4), four-fold,
// on MQ2008-agg and, if options.data contains packages.txt, on the demonstration's recorded lists; there also
// the losses after 1,000 rounds by the number of base queries, because overfitting depends on the amount of
// feedback. Quick: one fold and 60 rounds. Normal and full: 1,000 rounds.
#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "lab/experiments/home_pages/home_pages.h"
#include "lab/experiments/judged_queries.h"
#include "lab/learners/rankboost_plus/pair_rows.h"

namespace metafuse::lab::experiments {
namespace weak_learners {
namespace {

using fusion::TrainingSet;

constexpr std::size_t kFolds = 4;
const std::array<std::string, 4> kLearners = {"2", "3", "2.cum", "3.cum"};
const std::array<std::string, 2> kParts = {" train", " test"};
enum Part : std::size_t { kTrain, kTest };

/// For each part, the ranking losses of each learner by round; the first is before any round.
using Losses = std::array<std::vector<std::vector<double>>, kParts.size()>;
/// For each part, the loss of each learner after the last round.
using LastLosses = std::array<std::vector<double>, kParts.size()>;

Result<std::array<std::vector<double>, kParts.size()>> run_fold(const TrainingSet& set,
                                                                const Division& division,
                                                                const std::string& learner,
                                                                std::size_t rounds, std::uint64_t seed) {
  const std::array parts = {fusion::select_queries(set, division.train),
                            fusion::select_queries(set, division.test)};
  const Method method{
      "rankboost", "", {{"rounds", std::to_string(rounds)}, {"weak-learner", learner}, {"q-default", "0"}}};
  fusion::TrainingRequest request;
  request.seed = seed;
  TRY(const auto model, train(method, parts[kTrain], request));
  TRY(const auto rankings, rounds_of(model));
  std::array<std::vector<double>, kParts.size()> losses;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    TRY(const auto pairs, lab::rankboost_plus::pair_rows(parts[part], lab::rankboost_plus::kAnyMemory));
    losses[part] = followed(parts[part], rankings, rounds, [&](const std::vector<double>& scores) {
      return lab::rankboost_plus::rank_losses(pairs, scores).r2;
    });
    losses[part].front() = 0.5;  // of ties, exactly
  }
  return losses;
}

/// The losses of the four weak learners, averaged over the folds.
Result<Losses> mean_losses(const TrainingSet& set, std::size_t rounds, std::size_t folds,
                           const ExperimentOptions& options) {
  TRY(const auto part_of, random_parts(set, kFolds, options.seed));
  TRY(const auto runs, run_all(kLearners.size() * folds, options, [&](std::size_t i) {
        return run_fold(set, divided(part_of, i % folds), kLearners[i / folds], rounds, options.seed);
      }));
  Losses means;
  for (std::size_t first = 0; first < runs.size(); first += folds)
    for (std::size_t part = 0; part < means.size(); ++part) {
      std::vector<std::vector<double>> rows;
      for (std::size_t fold = 0; fold < folds; ++fold) rows.push_back(runs[first + fold][part]);
      means[part].push_back(means_of(rows));
    }
  return means;
}

LastLosses last_of(const Losses& losses) {
  LastLosses last;
  for (std::size_t part = 0; part < losses.size(); ++part)
    for (const auto& curve : losses[part]) last[part].push_back(curve.back());
  return last;
}

void describe(const std::string& name, const Losses& losses, Report& report) {
  Figures figures{name + ": ranking loss after", {}};
  std::vector<std::size_t> stops;
  for (const std::size_t t : {10U, 25U, 50U, 100U, 200U, 500U, 1000U})
    if (t < losses[kTrain][0].size()) stops.push_back(t);
  for (const std::size_t t : stops) figures.columns.push_back(std::to_string(t));
  JsonObject json;
  std::array<std::vector<evaluation::Curve>, kParts.size()> curves;
  for (std::size_t l = 0; l < kLearners.size(); ++l) {
    const std::string learner = "WeakLearn." + kLearners[l];
    for (std::size_t part = 0; part < kParts.size(); ++part) {
      std::vector<double> values;
      for (const std::size_t t : stops) values.push_back(losses[part][l][t]);
      figures.add(learner + kParts[part], values);
      curves[part].push_back(curve_of(learner, losses[part][l], 0.0));
    }
    json[learner] =
        JsonObject{{"train", json_array(losses[kTrain][l])}, {"test", json_array(losses[kTest][l])}};
  }
  report.text += figures.table(5).text();
  report.json[name] = std::move(json);
  report.plot(curves[kTrain], name + ": training loss", "round", "ranking loss");
  report.plot(curves[kTest], name + ": test loss", "round", "ranking loss");
}

/// Judges what fig. 4 shows at its last round.
/// in: where - the beginning of each claim
void judge_losses(const std::string& where, const LastLosses& last, int digits, Report& report) {
  const auto& [train, test] = last;
  report.judge(where + "WeakLearn.2 has the lowest training loss, then 3, then the .cum forms",
               train[0] <= train[1] && train[1] <= std::min(train[2], train[3]),
               named(kLearners, train, digits, ": "));
  report.judge(where + "the .cum forms have the lowest test loss",
               std::max(test[2], test[3]) < std::min(test[0], test[1]), named(kLearners, test, digits, ": "));
}

void add_claims(const std::string& name, const Losses& losses, Report& report) {
  const LastLosses last = last_of(losses);
  judge_losses(name + ": ", last, 5, report);
  const std::vector<double>& test = last[kTest];
  const double apart = std::abs(test[2] - test[3]);
  report.judge(name + ": 2.cum and 3.cum are nearly identical on test data (within 2 % of the loss)",
               apart <= 0.02 * test[3], "apart by " + fixed(apart, 5));
  std::vector<double> rise;
  for (const auto& curve : losses[kTest]) rise.push_back(curve.back() - least_of(curve));
  report.judge(name + ": the .cum forms resist overfitting (test loss rises less above its least value)",
               std::max(rise[2], rise[3]) < std::min(rise[0], rise[1]), named(kLearners, rise, 5, ": "));
}

/// Fig. 4 by the amount of feedback: last losses, averaged over up to five disjoint blocks of so many
/// queries, which are cross-validated separately.
Result<void> query_counts_figure(const TrainingSet& set, std::size_t rounds, const ExperimentOptions& options,
                                 Report& report) {
  constexpr std::size_t kMostBlocks = 5;
  std::vector<std::size_t> counts = {50, 100, 200, 500, set.queries.size()};
  if (options.is_quick()) counts = {50, 100};
  Figures figures{fmt::format("home pages: ranking loss after {} rounds, by queries", rounds), {}};
  for (const std::string& part : kParts)
    for (const std::string& learner : kLearners) figures.add("WeakLearn." + learner + part, {});
  std::vector<double> x;
  JsonArray json;
  for (const std::size_t count : counts) {
    if (count > set.queries.size()) continue;
    const std::size_t blocks = std::min(kMostBlocks, set.queries.size() / count);
    std::array<std::vector<std::vector<double>>, kParts.size()> of_blocks;
    for (std::size_t block = 0; block < blocks; ++block) {
      std::vector<std::size_t> queries(count);
      std::iota(queries.begin(), queries.end(), block * count);
      TRY(const auto losses, mean_losses(fusion::select_queries(set, queries), rounds, kFolds, options));
      const LastLosses last = last_of(losses);
      for (std::size_t part = 0; part < kParts.size(); ++part) of_blocks[part].push_back(last[part]);
    }
    const LastLosses last = {means_of(of_blocks[kTrain]), means_of(of_blocks[kTest])};
    figures.columns.push_back(fmt::format("{} (x{})", count, blocks));
    x.push_back(static_cast<double>(count));
    for (std::size_t i = 0; i < figures.rows.size(); ++i)
      figures.rows[i].second.push_back(last[i / kLearners.size()][i % kLearners.size()]);
    json.push_back(JsonObject{{"queries", count},
                              {"blocks", blocks},
                              {"train", json_array(last[kTrain])},
                              {"test", json_array(last[kTest])}});
    judge_losses(fmt::format("home pages, {} queries, {} rounds: ", count, rounds), last, 4, report);
  }
  report.text += figures.table(4).text();
  report.json["by queries"] = std::move(json);
  figures.rows.erase(figures.rows.begin(), figures.rows.begin() + kLearners.size());
  report.plot(figures.curves(x), fmt::format("home pages: test loss after {} rounds", rounds), "queries",
              "ranking loss", true);
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
  Report report;
  const auto add = [&](const std::string& name, const TrainingSet& set) -> Result<void> {
    TRY(const auto losses, mean_losses(set, rounds, options.is_quick() ? 1 : kFolds, options));
    describe(name, losses, report);
    add_claims(name, losses, report);
    return {};
  };
  TRY(const auto letor, read_judged_queries("MQ2008-agg", options));
  TRY_VOID(add(letor.name, letor.set));
  if (has_set(kHomePages, options, report)) {
    TRY(const auto sample, record_home_pages(options));
    TRY_VOID(add("home pages", sample));
    TRY_VOID(query_counts_figure(sample, rounds, options, report));
  }
  report.leave("the ML and UNIV domains' own curves", "AltaVista and the lists are gone");
  return report;
}

}  // namespace metafuse::lab::experiments
