#include "fusion/model/prior.h"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "core/random.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/model/sum_ranker.h"
#include "fusion/training/registry.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

constexpr std::uint32_t kDepth = 10;

std::vector<Feature> lists_named(const std::vector<std::string>& names) {
  std::vector<Feature> features;
  for (const std::string& name : names) features.push_back({name, FeatureKind::rank, kDepth});
  return features;
}

/// Queries of ten documents in lists of ten. The list numbered `good` ranks the two relevant documents first,
/// and the others are in random order.
TrainingSet queries_of(const std::vector<Feature>& features, std::size_t good, int queries,
                       std::uint64_t seed) {
  Random random(seed);
  TrainingSetBuilder builder;
  for (int q = 0; q < queries; ++q) {
    std::vector<std::vector<double>> ranks(features.size());
    for (std::size_t f = 0; f < features.size(); ++f) {
      for (int d = 0; d < 10; ++d) ranks[f].push_back(d + 1);
      if (f != good) random.shuffle(ranks[f]);
    }
    for (std::size_t d = 0; d < 10; ++d) {
      std::vector<Cell> cells;
      for (std::uint32_t f = 0; f < features.size(); ++f) cells.push_back({f, -ranks[f][d]});
      builder.add({fmt::format("q{}", 100 + q), fmt::format("d{}", d), d < 2 ? 1.0 : 0.0, true, cells});
    }
  }
  auto set = builder.finish(features, {});
  REQUIRE(set.has_value());
  return std::move(*set);
}

Model trained(const TrainingSet& set, const std::string& learner, const Prior* prior = nullptr,
              std::map<std::string, std::string> options = {}) {
  TrainingRequest request;
  request.train = &set;
  request.prior = prior;
  request.options = std::move(options);
  auto result = find_learner(learner)->train(request);
  REQUIRE(result.has_value());
  return std::move(result->model);
}

/// The documents of the first query, best first.
std::vector<std::size_t> first_order(const Model& model, const TrainingSet& set) {
  const std::vector<double> scores = model.ranker->score(set.matrix);
  std::vector<std::size_t> order;
  for (std::size_t row = set.queries[0].begin; row < set.queries[0].end; ++row) order.push_back(row);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  return order;
}

/// Counts the documents that another ranker scores.
struct CountingRanker : Ranker {
  SharedRanker other;
  mutable std::size_t documents = 0;

  std::vector<double> score(const FeatureMatrix& matrix) const override {
    documents += matrix.document_count();
    return other->score(matrix);
  }
  JsonObject body() const override { return other->body(); }
  std::string describe(const std::vector<Feature>& features) const override {
    return other->describe(features);
  }
};

const std::vector<std::string> kNames = {"plain@one", "plain@two", "title@one"};

}  // namespace

TEST_CASE("A prior of one model orders the same lists as the model does", "[fusion][prior]") {
  const TrainingSet set = queries_of(lists_named(kNames), 1, 20, 3);
  for (const char* learner : {"rankboost", "rankboost-blend", "reciprocal-ranks"}) {
    INFO(learner);
    const Model model = trained(set, learner);
    const PriorSource source{"other", &model};
    const auto prior = prior_of(std::span(&source, 1), set.matrix.features());
    REQUIRE(prior.has_value());
    CHECK(prior->lists_by_name == 3);
    const std::vector<double> own = model.ranker->score(set.matrix);
    const std::vector<double> from = model_of(*prior, set.matrix.features()).ranker->score(set.matrix);
    const double scale = (own[0] - own[9]) / (from[0] - from[9]);
    REQUIRE(scale > 0.0);
    for (std::size_t row = 1; row < own.size(); ++row)
      CHECK(own[row] - own[0] == Approx(scale * (from[row] - from[0])).margin(1e-9));
  }
}

TEST_CASE("A list that no model has counts like the lists of its engine, else like all", "[fusion][prior]") {
  const TrainingSet set = queries_of(lists_named(kNames), 1, 20, 3);
  const Model model = trained(set, "rankboost");
  const PriorSource source{"other", &model};
  const auto features = lists_named({"plain@two", "words@two", "words@one", "plain@three"});
  const auto prior = prior_of(std::span(&source, 1), features);
  REQUIRE(prior.has_value());
  CHECK(prior->lists_by_name == 1);
  CHECK(prior->lists_by_engine == 2);
  CHECK(prior->lists_unknown == 1);
  const Model made = model_of(*prior, features);
  const auto& ranker = *made.ranker->sum();
  const auto& before = *model.ranker->sum();
  const auto part = [&](std::size_t list, double rank) { return ranker.part(list, -rank); };
  const auto was = [&](std::size_t list, double rank) {
    return before.part(list, -rank) - before.unranked_part(list);
  };
  const double scale = was(1, 1) / part(0, 1);
  for (const double rank : {1.0, 2.0, 5.0, 10.0}) {
    CHECK(part(1, rank) == Approx(part(0, rank)));  // engine two has one list
    CHECK(scale * part(2, rank) == Approx((was(0, rank) + was(2, rank)) / 2).margin(1e-9));
    CHECK(part(3, rank) == Approx((part(0, rank) + part(1, rank) + part(2, rank)) / 3).margin(1e-9));
  }
}

TEST_CASE("What a model says of its lists is computed once for all lists of one engine", "[fusion][prior]") {
  Model model = trained(queries_of(lists_named(kNames), 0, 20, 3), "rankboost");
  const auto counting = std::make_shared<CountingRanker>();
  counting->other = model.ranker;
  model.ranker = counting;
  const PriorSource source{"other", &model};
  std::vector<std::string> names;
  for (int i = 0; i < 30; ++i) names.push_back(fmt::format("words{}@one", i));
  REQUIRE(prior_of(std::span(&source, 1), lists_named(names)).has_value());
  CHECK(counting->documents == 2 * (kDepth + 1));  // the engine has two lists
}

TEST_CASE("Several models count by the judged queries that they were trained on", "[fusion][prior]") {
  const auto features = lists_named(kNames);
  const Model first = trained(queries_of(features, 1, 20, 3), "rankboost");
  const Model second = trained(queries_of(features, 2, 5, 4), "rankboost");
  Model silent = trained(queries_of(features, 0, 5, 6), "rankboost");
  silent.training["judged_queries"] = 0;  // counts as one
  // one list of its own, so that it knows the others only by their engine
  const Model stranger = trained(queries_of(lists_named({"words@one"}), 0, 4, 5), "rankboost");
  const std::vector<PriorSource> sources{
      {"first", &first}, {"second", &second}, {"silent", &silent}, {"stranger", &stranger}};
  const auto prior = prior_of(sources, features);
  REQUIRE(prior.has_value());
  CHECK(prior->sources == std::vector<std::string>{"first", "second", "silent", "stranger"});
  CHECK(prior->lists_by_name == 3);  // what the best of them knows
  const Model made = model_of(*prior, features);
  const TrainingSet set = queries_of(features, 1, 1, 8);
  const std::vector<double> scores = made.ranker->score(set.matrix);
  std::vector<double> expected(scores.size());
  const double weights[] = {20, 5, 1, 4};
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto alone = prior_of(std::span(&sources[i], 1), features);
    REQUIRE(alone.has_value());
    const std::vector<double> own = model_of(*alone, features).ranker->score(set.matrix);
    for (std::size_t row = 0; row < own.size(); ++row) expected[row] += weights[i] / 30 * own[row];
  }
  for (std::size_t row = 0; row < scores.size(); ++row) CHECK(scores[row] == Approx(expected[row]));
}

TEST_CASE("A prior has at most a thousand steps for a list", "[fusion][prior]") {
  const Model model = trained(queries_of(lists_named(kNames), 1, 20, 3), "reciprocal-ranks");
  const PriorSource source{"other", &model};
  auto features = lists_named({kNames[0]});
  features[0].depth = 1'000'000;
  const auto prior = prior_of(std::span(&source, 1), features);
  REQUIRE(prior.has_value());
  CHECK(prior->steps.size() <= 1024);
}

TEST_CASE("Clicks on noise do not outweigh judged queries in a prior", "[fusion][prior]") {
  const auto features = lists_named(kNames);
  const Model judged = trained(queries_of(features, 1, 20, 3), "rankboost");
  TrainingSet clicks = queries_of(features, 2, 400, 4);  // another list, as if it were the good one
  for (QueryRange& query : clicks.queries) {
    query.id = "clicked " + query.id + "#1";
    query.is_judged = false;
    clicks.pairs.push_back(
        {static_cast<std::uint32_t>(query.begin + 5), static_cast<std::uint32_t>(query.begin), 1.0});
  }
  std::ranges::fill(clicks.grades, 0.0);
  const Model clicked = trained(clicks, "rankboost");
  CHECK(clicked.training.at("queries").to_number<int>() == 400);
  CHECK(clicked.training.at("judged_queries").to_number<int>() == 0);
  CHECK(judged.training.at("judged_queries").to_number<int>() == 20);
  const std::vector<PriorSource> sources{{"books", &judged}, {"plays", &clicked}};
  const Model both = model_of(prior_of(sources, features).value(), features);
  const auto order = first_order(both, queries_of(features, 1, 1, 8));
  CHECK(order[0] + order[1] == 1);  // the two relevant documents are first

  // an older model's file says only how many queries there were
  Model older = clicked;
  older.training.erase("judged_queries");
  const std::vector<PriorSource> with_older{{"books", &judged}, {"plays", &older}};
  const Model drowned = model_of(prior_of(with_older, features).value(), features);
  const SumRanker& by_clicks = *drowned.ranker->sum();
  CHECK(by_clicks.part(2, -1.0) > by_clicks.part(1, -1.0));
}

TEST_CASE("Models of other engines are no prior", "[fusion][prior]") {
  const TrainingSet set = queries_of(lists_named(kNames), 1, 20, 3);
  const Model model = trained(set, "rankboost");
  const PriorSource source{"other", &model};
  CHECK(prior_of(std::span(&source, 1), lists_named({"plain@four"})).error().code == Code::bad_data);
}

TEST_CASE("Trees are a prior by what they give to a document that one list alone holds", "[fusion][prior]") {
  const TrainingSet set = queries_of(lists_named(kNames), 1, 40, 3);
  const Model trees = trained(set, "monotone-trees", nullptr, {{"rounds", "20"}});
  REQUIRE(trees.ranker->sum() == nullptr);
  const PriorSource source{"trees.json", &trees};
  const auto prior = prior_of(std::span(&source, 1), set.matrix.features());
  REQUIRE(prior.has_value());
  const auto order =
      first_order(model_of(*prior, set.matrix.features()), queries_of(lists_named(kNames), 1, 1, 7));
  CHECK(order[0] + order[1] == 1);
  FeatureMatrix alone(set.matrix.features(), 2);
  alone.set(0, 1, -1.0);
  const auto scores = trees.ranker->score(alone);
  CHECK(scores[0] > scores[1]);
}

TEST_CASE("Training starts from other domains' models and says so", "[fusion][prior]") {
  const TrainingSet others = queries_of(lists_named(kNames), 1, 40, 3);
  const Model model = trained(others, "rankboost");
  const PriorSource source{"manuals", &model};
  const TrainingSet own = queries_of(lists_named(kNames), 1, 1, 5);
  const TrainingSet test = queries_of(lists_named(kNames), 1, 1, 7);
  const auto prior = prior_of(std::span(&source, 1), own.matrix.features());
  REQUIRE(prior.has_value());
  for (const char* learner : {"auto", "rankboost-blend", "reciprocal-ranks"}) {
    INFO(learner);
    const Model started = trained(own, learner, &*prior);
    const auto order = first_order(started, test);
    CHECK(std::min(order[0], order[1]) == 0);  // the two relevant documents are first
    CHECK(std::max(order[0], order[1]) == 1);
    CHECK(to_text(started.training.at("prior").at("models")) == R"(["manuals"])");
    const auto again = parse_model(model_text(started), "m.json");
    REQUIRE(again.has_value());
    CHECK(again->ranker->score(test.matrix) == started.ranker->score(test.matrix));
  }
  // one own query beside models that are worth 3 x 8
  CHECK(trained(own, "rankboost-blend", &*prior).training.at("share_of_learned").to_number<double>() ==
        Approx(1.0 / (1.0 + 24.0 * 24.0)));
}

TEST_CASE("A prior that the judged queries contradict is left", "[fusion][prior]") {
  const TrainingSet others = queries_of(lists_named(kNames), 1, 40, 3);
  const Model model = trained(others, "rankboost");
  const PriorSource source{"manuals", &model};
  const TrainingSet own = queries_of(lists_named(kNames), 2, 12, 5);  // here another list is the good one
  const auto prior = prior_of(std::span(&source, 1), own.matrix.features());
  REQUIRE(prior.has_value());
  const Model started = trained(own, "auto", &*prior);
  const std::string chosen(started.training.at("auto").at("chosen").as_string());
  INFO(chosen);
  const auto order = first_order(started, queries_of(lists_named(kNames), 2, 1, 9));
  CHECK(order[0] + order[1] == 1);
  CHECK(chosen != "other domains");
}

TEST_CASE("Given weights of lists and a prior exclude each other", "[fusion][prior]") {
  const TrainingSet set = queries_of(lists_named(kNames), 1, 10, 3);
  const Model model = trained(set, "rankboost");
  const PriorSource source{"other", &model};
  const auto prior = prior_of(std::span(&source, 1), set.matrix.features());
  REQUIRE(prior.has_value());
  TrainingRequest request;
  request.train = &set;
  request.prior = &*prior;
  request.options = {{"weights", "best"}};
  CHECK(find_learner("reciprocal-ranks")->train(request).error().code == Code::usage);
}
