#include "fusion/model/sum_ranker.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/learners/reciprocal_ranks/learner.h"
#include "fusion/model/fuse.h"
#include "fusion/training/registry.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// Queries with three lists; the first list goes down to rank 2,000 and has all documents.
TrainingSet deep_set() {
  Random random(31);
  TrainingSetBuilder builder;
  for (int q = 0; q < 6; ++q)
    for (int d = 0; d < 40; ++d) {
      std::vector<Cell> cells{{0, -static_cast<double>(1 + 50 * d)}};
      for (const std::uint32_t list : {1U, 2U})
        if (random.below(3) == 0) cells.push_back({list, -static_cast<double>(1 + random.below(30))});
      const double grade = random.below(40) > static_cast<std::uint64_t>(d) ? 1.0 : 0.0;
      builder.add({"q" + std::to_string(q), "d" + std::to_string(100 + d), grade, true, cells});
    }
  auto set = builder.finish(
      {{"deep", FeatureKind::rank, 0}, {"short", FeatureKind::rank, 0}, {"cut", FeatureKind::rank, 20}}, {});
  REQUIRE(set.has_value());
  return std::move(*set);
}

Model trained_on(const TrainingSet& set, const char* learner, std::map<std::string, std::string> options) {
  TrainingRequest request;
  request.train = &set;
  request.options = std::move(options);
  auto result = find_learner(learner)->train(request);
  REQUIRE(result.has_value());
  return std::move(result->model);
}

/// A list of 2,000 numbered documents, one with every 70th of them in reverse, and one with every 60th.
std::vector<std::vector<std::string>> served_lists() {
  std::vector<std::vector<std::string>> lists(3);
  for (int d = 0; d < 2'000; ++d) lists[0].push_back("d" + std::to_string(10'000 + d));
  for (int d = 0; d < 2'000; d += 70)
    lists[1].insert(lists[1].begin(), lists[0][static_cast<std::size_t>(d)]);
  for (int d = 5; d < 2'000; d += 60) lists[2].push_back(lists[0][static_cast<std::size_t>(d)]);
  return lists;
}

}  // namespace

TEST_CASE("Serving and scoring give the same sums bit for bit even beyond the tables", "[fusion][model]") {
  const TrainingSet set = deep_set();
  const std::vector<std::pair<const char*, std::map<std::string, std::string>>> kinds = {
      {"rankboost", {{"rounds", "40"}}},
      {"rankboost", {{"rounds", "20"}, {"weak-ranking", "value"}, {"q-default", "learn"}}},
      {"reciprocal-ranks", {{"rounds", "10"}, {"weights", "tuned"}}},
      {"rankboost-blend", {}}};
  const auto texts = served_lists();
  std::vector<std::vector<std::string_view>> ids;
  for (const auto& list : texts) ids.emplace_back(list.begin(), list.end());
  const std::vector<RankedIds> lists(ids.begin(), ids.end());
  for (const auto& [learner, options] : kinds) {
    const Model model = trained_on(set, learner, options);
    const FusedRanking fused = fuse(model, lists);
    REQUIRE(fused.scores.size() == 2'000);
    FeatureMatrix matrix(model.features, fused.scores.size());
    for (std::size_t i = 0; i < fused.scores.size(); ++i)
      for (std::size_t list = 0; list < 3; ++list)
        if (const std::uint32_t rank = fused.instances.ranks_of(i)[list]; rank > 0)
          matrix.set(i, list, -static_cast<double>(rank));
    INFO(learner);
    CHECK(model.ranker->score(matrix) == fused.scores);
    for (const std::size_t i : {std::size_t{0}, std::size_t{70}, std::size_t{1'950}}) {
      const Explanation why = explain(model, fused, i);
      const std::vector<double> parts = model.ranker->contributions(matrix, i);
      REQUIRE(why.features.size() == parts.size());
      for (std::size_t f = 0; f < parts.size(); ++f) CHECK(why.features[f].weight == parts[f]);
    }
  }
}

TEST_CASE("The table of a list ends at its depth", "[fusion][model]") {
  const Model model = trained_on(deep_set(), "rankboost-blend", {});
  const auto& sum = *model.ranker->sum();
  CHECK(sum.by_rank(0).size() == 1024);
  CHECK(sum.by_rank(2).size() == 21);  // ranks 1 to 20, and unranked
  CHECK(sum.by_rank(2)[0] == sum.unranked_part(2));
  for (const std::uint32_t rank : {1U, 20U, 21U, 5'000U})
    CHECK(sum.at_rank(2, rank) == sum.part(2, -static_cast<double>(rank)));
}

TEST_CASE("Tables of many lists are short and ranks beyond them are computed", "[fusion][model][security]") {
  const auto ranker_of = [](std::size_t lists) {
    return SumRanker({{0, -3.0, 0.5, 2.0}}, std::vector<Feature>(lists, {"list", FeatureKind::rank, 0}));
  };
  CHECK(ranker_of(256).by_rank(0).size() == 1'024);
  CHECK(ranker_of(257).by_rank(0).size() == 1'020);
  const SumRanker ranker = ranker_of(300'000);
  CHECK(ranker.by_rank(0) == std::vector<double>{1.0});  // unranked
  CHECK(ranker.at_rank(0, 0) == 1.0);
  CHECK(ranker.at_rank(0, 2) == 2.0);
  CHECK(ranker.at_rank(0, 3) == 0.0);
}

// 1 / (60 + rank): 1/61 = .01639, 1/62 = .01613, 1/63 = .01587. The step adds .5 to rank 1, and half of that
// to documents that are not in the second list.
TEST_CASE("The table of a model shows what some ranks of each list add", "[fusion][model]") {
  const std::vector<Feature> features = {
      {"a", FeatureKind::rank, 3}, {"long name", FeatureKind::rank, 2}, {"unused", FeatureKind::rank, 3}};
  const std::vector<WeakRanking> steps = {{1, -2.0, 0.5, 0.5}};
  const SumRanker ranker(SumParts{FusedPart{60.0, {1.0, 0.0, 0.0}, steps}, {}, {}}, features);
  CHECK(rank_table(ranker, features) ==
        "what a list adds to a score, by the rank of the document\n"
        "rank               1          2          3       none\n"
        "a            0.01639    0.01613    0.01587          0\n"
        "long name        0.5          0          0       0.25\n");
  const std::vector<Feature> values = {{"f", FeatureKind::value, 0}};
  CHECK(rank_table(SumRanker({{0, 1.0, 0.0, 0.5}}, values), values).empty());
}

TEST_CASE("Documents below the depths of a model come after all that it knows", "[fusion][model]") {
  Model model;
  model.learner = "rankboost";
  model.features = {{"a", FeatureKind::rank, 2}};
  // only rank 1 scores, so that the document of rank 2 has the least score of those within the depth
  model.ranker = std::make_shared<SumRanker>(std::vector<WeakRanking>{{0, -1.5, 0.0, 1.0}}, model.features);
  const auto score = score_with_model(model, {"a"}, false);
  REQUIRE(score.has_value());
  const QueryLists query{{"d1", "d2", "d3", "d4"}, {{{0, 4.0}, {1, 3.0}, {2, 2.0}, {3, 1.0}}}};
  const std::vector<double> scores = (*score)(query);
  REQUIRE(scores.size() == 4);
  CHECK(scores[0] > scores[1]);
  CHECK(scores[1] > scores[2]);
  CHECK(scores[2] == scores[3]);
}
