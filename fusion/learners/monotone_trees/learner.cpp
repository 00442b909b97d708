#include <algorithm>

#include "fusion/learners/common/bagging.h"
#include "fusion/learners/common/options.h"
#include "fusion/learners/monotone_trees/boost.h"
#include "fusion/learners/monotone_trees/tree_ranker.h"
#include "fusion/learners/rankboost/feedback.h"

namespace metafuse::fusion::monotone_trees {
namespace {

struct Options {
  BoostOptions boost;
  std::size_t bags = 10;
  std::size_t max_thresholds = 255;
};

void declare_options(OptionTable& table, Options& options) {
  table.count("rounds", options.boost.rounds, 0, 100'000,
              "trees per bag; with validation data, the best number up to this");
  table.count("tree-depth", options.boost.depth, 1, 8, "questions on the path to a leaf");
  table.number("rate", options.boost.rate, 1e-6, 1.0, "share of a tree's best step that is taken");
  table.number("feature-share", options.boost.features, 1e-6, 1.0,
               "share of the features that each tree may ask about");
  table.number("query-share", options.boost.queries, 1e-6, 1.0,
               "share of the base queries that each bag learns from");
  table.count("bags", options.bags, 1, 1000, "number of bags, each a sum of trees, whose mean is the score");
  table.count("max-thresholds", options.max_thresholds, 1, 255,
              "thresholds per feature, including minus infinity");
}

/// Trains the trees of every bag.
std::vector<std::vector<Tree>> train_bags(const TrainingRequest& request, const Options& options,
                                          const rankboost::Feedback& feedback) {
  const FeatureMatrix& matrix = request.train->matrix;
  const CodedFeatures features(matrix, {options.max_thresholds}, feedback.is_used);
  std::vector<FeatureKind> kinds;
  for (const Feature& feature : matrix.features()) kinds.push_back(feature.kind);
  std::vector<std::vector<Tree>> bags(options.bags);
  const Random random(request.seed);
  const TimeLimit limit = limit_of_bag(request, options.bags);
  for_each_bag(request, bags.size(), [&](std::size_t bag) {
    BoostOptions boost = options.boost;
    boost.is_over = [timer = Timer(limit)] { return timer.is_over(); };
    bags[bag] = boost_trees(features, kinds, feedback, boost, random.split(bag));
  });
  // If the time limit cut bags short, all bags are cut to the same number of rounds.
  std::size_t rounds = options.boost.rounds;
  for (const auto& bag : bags) rounds = std::min(rounds, bag.size());
  for (auto& bag : bags) bag.resize(rounds);
  return bags;
}

BestRound best_rounds(const TrainingRequest& request, const std::vector<std::vector<Tree>>& bags) {
  return best_rounds_of_bags(request, bags[0].size(), [&](std::size_t round, std::vector<double>& scores) {
    std::vector<Tree> trees;
    for (const std::vector<Tree>& bag : bags) trees.push_back(bag[round]);
    add_to_scores(request.validate->matrix, trees, scores);
  });
}

/// The bags' first `rounds` trees as one sum, which is the mean of the bags.
std::vector<Tree> mean_of(const std::vector<std::vector<Tree>>& bags, std::size_t rounds) {
  std::vector<Tree> trees;
  for (const std::vector<Tree>& bag : bags)
    for (std::size_t round = 0; round < std::min(rounds, bag.size()); ++round) {
      Tree tree = bag[round];
      for (TreeNode& node : tree) node.value /= static_cast<double>(bags.size());
      trees.push_back(std::move(tree));
    }
  return trees;
}

/// One line per bag and round: the tree that the round added, before the mean over the bags is taken.
std::vector<JsonObject> trace_of(const std::vector<std::vector<Tree>>& bags, std::size_t rounds,
                                 const std::vector<Feature>& features) {
  std::vector<JsonObject> lines;
  for (std::size_t bag = 0; bag < bags.size(); ++bag)
    for (std::size_t round = 0; round < std::min(rounds, bags[bag].size()); ++round)
      lines.push_back(JsonObject{
          {"bag", bag + 1}, {"round", round + 1}, {"tree", tree_json(bags[bag][round], features)}});
  return lines;
}

Result<TrainingResult> train(const TrainingRequest& request) {
  TRY(const auto options, read_options<Options>(request.options));
  if (!request.train->pairs.empty())
    return fail(Code::usage, "monotone-trees learns from grades only; leave --pairs out, or use rankboost");
  TRY(const auto feedback, rankboost::make_feedback(*request.train));
  const auto bags = train_bags(request, options, feedback);
  TrainingResult result;
  result.summary = std::to_string(options.bags) + " bags over " + std::to_string(feedback.query_count) +
                   " queries with " + std::to_string(feedback.crucial_pairs) + " crucial pairs; " +
                   std::to_string(feedback.left_out) + " queries without any left out\n";
  std::size_t rounds = options.boost.rounds;
  if (request.measure.value) {
    const BestRound best = best_rounds(request, bags);
    rounds = best.rounds();
    result.summary += record_best_rounds(request, best, result.model.training);
  }
  if (request.trace.is_wanted) result.trace = trace_of(bags, rounds, request.train->matrix.features());
  result.model.learner = "monotone-trees";
  result.model.features = request.train->matrix.features();
  result.model.ranker = std::make_shared<TreeRanker>(mean_of(bags, rounds), result.model.features);
  result.model.training["options"] = options_json(options);
  result.model.training["seed"] = request.seed;
  result.model.training["queries"] = feedback.query_count;
  result.model.training["crucial_pairs"] = feedback.crucial_pairs;
  return result;
}

}  // namespace

Learner learner() {
  return {.name = "monotone-trees",
          .meaning = "the mean of boosted trees in which a better rank never lowers a score",
          .source = "Friedman 2001, Burges et al. 2005, Chen and Guestrin 2016",
          .options = option_rows<Options>(),
          .train = train,
          .can = {.validate = true, .stop_early = true, .limit_time = true}};
}

}  // namespace metafuse::fusion::monotone_trees
