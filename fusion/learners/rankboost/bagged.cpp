#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "core/random.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/common/bagging.h"
#include "fusion/learners/common/step_result.h"
#include "fusion/learners/rankboost/candidates.h"
#include "fusion/learners/rankboost/learner.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion::rankboost {
namespace {

struct BaggedOptions {
  Options boost;
  std::size_t bags = 20;
};

void declare_options(OptionTable& table, BaggedOptions& options) {
  declare_options(table, options.boost);
  table.count("bags", options.bags, 1, 1000, "bootstrap samples of the base queries");
}

using TrainedBag = std::optional<Result<TrainingResult>>;

std::vector<TrainedBag> train_bags(const TrainingRequest& request, std::size_t bags) {
  std::map<std::string, std::string> options = request.options;
  options.erase("bags");
  std::vector<TrainedBag> trained(bags);
  const Random random(request.seed);
  for_each_bag(request, bags, [&](std::size_t bag) {
    const auto sample = bootstrap_sample(request.train->queries.size(), random.split(bag));
    const TrainingSet set = select_queries(*request.train, sample);
    TrainingRequest inner;
    inner.train = &set;
    inner.options = options;
    inner.seed = request.seed;
    inner.wants_trace = false;
    inner.clock = request.clock;
    inner.time_limit_seconds = time_of_bag(request, bags);
    trained[bag] = learner().train(inner);
  });
  return trained;
}

std::span<const WeakRanking> rankings_of(const TrainedBag& bag) {
  return dynamic_cast<const StepRanker&>(*(*bag)->model.ranker).rankings();
}

BestRound best_rounds(const TrainingRequest& request, const std::vector<TrainedBag>& trained) {
  std::size_t longest = 0;
  for (const TrainedBag& bag : trained) longest = std::max(longest, rankings_of(bag).size());
  return best_rounds_of_bags(request, longest, [&](std::size_t round, std::vector<double>& scores) {
    for (const TrainedBag& bag : trained)
      if (round < rankings_of(bag).size())
        add_to_scores(request.validate->matrix, rankings_of(bag)[round], scores);
  });
}

/// The mean of the bags' first `rounds` weak rankings.
std::vector<WeakRanking> merged(const std::vector<TrainedBag>& trained, std::size_t rounds) {
  std::vector<std::span<const WeakRanking>> bags;
  for (const TrainedBag& bag : trained) {
    const auto rankings = rankings_of(bag);
    bags.push_back(rankings.first(std::min(rounds, rankings.size())));
  }
  return mean_of_bags(bags);
}

/// A line per bag and round.
std::vector<JsonObject> trace_of(const TrainingRequest& request, const std::vector<TrainedBag>& trained,
                                 std::size_t rounds) {
  std::vector<JsonObject> lines;
  const StepTrace trace(request);
  for (std::size_t bag = 0; bag < trained.size(); ++bag) {
    const auto rankings = rankings_of(trained[bag]);
    for (std::size_t round = 0; round < std::min(rounds, rankings.size()); ++round) {
      lines.push_back(trace.line(round + 1, rankings[round]));
      lines.back()["bag"] = bag + 1;
    }
  }
  return lines;
}

Result<TrainingResult> train_bagged(const TrainingRequest& request) {
  TRY(const auto options, read_options<BaggedOptions>(request.options));
  TRY_VOID(check_options(options.boost));
  if (options.boost.is_value)
    return fail(Code::usage, "--weak-ranking value cannot be bagged; use threshold or the learner rankboost");
  if (request.train->queries.empty()) return fail(Code::bad_data, "no base query to train on");
  std::vector<TrainedBag> trained = train_bags(request, options.bags);
  // A sample of few queries may contain none from which anything can be learned; it then has no vote.
  const auto has_taught = [](const TrainedBag& bag) { return bag->has_value(); };
  const auto failed = std::find_if_not(trained.begin(), trained.end(), has_taught);
  const bool has_any = std::any_of(trained.begin(), trained.end(), has_taught);
  if (failed != trained.end() && (!has_any || (*failed)->error().code != Code::bad_data))
    return (*failed)->error();
  std::erase_if(trained, [&](const TrainedBag& bag) { return !has_taught(bag); });
  JsonObject training;
  std::size_t rounds = options.boost.rounds;
  std::string choice;
  if (request.measure) {
    const BestRound best = best_rounds(request, trained);
    rounds = best.rounds();
    choice = record_best_rounds(request, best, training);
  }
  training["options"] = options_json(options.boost, '_');
  training["bags"] = options.bags;
  training["seed"] = request.seed;
  training["queries"] = request.train->queries.size();
  std::vector<WeakRanking> rankings = merged(trained, rounds);
  const std::string summary =
      fmt::format("{} bags of {} queries, {} different weak rankings\n{}", trained.size(),
                  request.train->queries.size(), rankings.size(), choice);
  const std::vector<Feature>& features = request.train->matrix.features();
  return TrainingResult{{"rankboost-bagged", features,
                         std::make_shared<StepRanker>(std::move(rankings), features), std::move(training)},
                        request.wants_trace ? trace_of(request, trained, rounds) : std::vector<JsonObject>(),
                        summary};
}

}  // namespace

Learner bagged_learner() {
  return {.name = "rankboost-bagged",
          .meaning = "the mean of RankBoosts trained on bootstrap samples of the base queries",
          .source = "Breiman 1996 over Freund, Iyer, Schapire, Singer 2003",
          .options = option_rows<BaggedOptions>(),
          .train = train_bagged,
          .read = read_step_ranker,
          .can_validate = true,
          .can_stop_early = true,
          .can_limit_time = true};
}

}  // namespace metafuse::fusion::rankboost
