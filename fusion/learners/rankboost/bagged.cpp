#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "core/random.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/common/bagging.h"
#include "fusion/learners/common/rounds.h"
#include "fusion/learners/rankboost/candidates.h"
#include "fusion/learners/rankboost/learner.h"
#include "fusion/model/sum_ranker.h"

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

using Bag = std::vector<WeakRanking>;  // in the order of the rounds

std::vector<Result<Bag>> train_bags(const TrainingRequest& request, std::size_t bags) {
  std::map<std::string, std::string> options = request.options;
  options.erase("bags");
  std::vector<Result<Bag>> trained(bags, Bag());
  const Random random(request.seed);
  for_each_bag(request, bags, [&](std::size_t bag) {
    const auto sample = bootstrap_sample(request.train->queries.size(), random.split(bag));
    const TrainingSet set = select_queries(*request.train, sample);
    TrainingRequest inner;
    inner.train = &set;
    inner.options = options;
    inner.seed = request.seed;
    inner.trace.is_wanted = false;
    inner.limit = limit_of_bag(request, bags);
    const auto result = learner().train(inner);
    if (result)
      trained[bag] = *result->model.ranker->sum()->rankings();
    else
      trained[bag] = result.error();
  });
  return trained;
}

/// The bags from which anything could be learned. A sample of few queries may have none, and then no vote.
/// errors: those of the bags, except bad_data while some bag has learned
Result<std::vector<Bag>> taught_bags(const TrainingRequest& request, std::size_t bags) {
  std::vector<Bag> taught;
  std::optional<Error> error;
  for (Result<Bag>& bag : train_bags(request, bags))
    if (bag)
      taught.push_back(std::move(*bag));
    else if (!error)
      error = bag.error();
  if (error && (taught.empty() || error->code != Code::bad_data)) return *error;
  return taught;
}

BestRound best_rounds(const TrainingRequest& request, const std::vector<Bag>& bags) {
  std::size_t longest = 0;
  for (const Bag& bag : bags) longest = std::max(longest, bag.size());
  return best_rounds_of_bags(request, longest, [&](std::size_t round, std::vector<double>& scores) {
    for (const Bag& bag : bags)
      if (round < bag.size()) add_to_scores(request.validate->matrix, bag[round], scores);
  });
}

/// A line per bag and round.
std::vector<JsonObject> trace_of(const TrainingRequest& request, const std::vector<Bag>& bags) {
  std::vector<JsonObject> lines;
  const StepTrace trace(request);
  for (std::size_t bag = 0; bag < bags.size(); ++bag)
    for (std::size_t round = 0; round < bags[bag].size(); ++round) {
      lines.push_back(trace.line(round + 1, bags[bag][round]));
      lines.back()["bag"] = bag + 1;
    }
  return lines;
}

Result<TrainingResult> train_bagged(const TrainingRequest& request) {
  TRY(const auto options, read_options<BaggedOptions>(request.options));
  TRY_VOID(check_options(options.boost));
  if (options.boost.is_value)
    return fail(Code::usage, "--weak-ranking value cannot be bagged; use threshold or the learner rankboost");
  if (request.train->queries.empty()) return fail(Code::bad_data, "no base query to train on");
  TRY(auto bags, taught_bags(request, options.bags));
  JsonObject training;
  std::string choice;
  if (request.measure.value) {
    const BestRound best = best_rounds(request, bags);
    for (Bag& bag : bags) bag.resize(std::min(best.rounds(), bag.size()));
    choice = record_best_rounds(request, best, training);
  }
  training["options"] = options_json(options.boost);
  training["bags"] = options.bags;
  training["seed"] = request.seed;
  training["queries"] = request.train->queries.size();
  std::vector<WeakRanking> rankings =
      mean_of_bags(std::vector<std::span<const WeakRanking>>(bags.begin(), bags.end()));
  const std::string summary =
      fmt::format("{} bags of {} queries, {} different weak rankings\n{}", bags.size(),
                  request.train->queries.size(), rankings.size(), choice);
  const std::vector<Feature>& features = request.train->matrix.features();
  return TrainingResult{{"rankboost-bagged", features,
                         std::make_shared<SumRanker>(std::move(rankings), features), std::move(training)},
                        request.trace.is_wanted ? trace_of(request, bags) : std::vector<JsonObject>(),
                        summary};
}

}  // namespace

Learner bagged_learner() {
  return {.name = "rankboost-bagged",
          .meaning = "the mean of RankBoosts trained on bootstrap samples of the base queries",
          .source = "Breiman 1996 over Freund, Iyer, Schapire, Singer 2003",
          .options = option_rows<BaggedOptions>(),
          .train = train_bagged,
          .can = {.validate = true, .stop_early = true, .limit_time = true}};
}

}  // namespace metafuse::fusion::rankboost
