#include "fusion/training/pooling.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/data/base_queries.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/training/registry.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// Two lists of six documents in random orders; the relevant one is the first of the list `trusted`.
TrainingSet queries_trusting(std::uint32_t trusted, int queries, std::uint64_t seed) {
  Random random(seed);
  TrainingSetBuilder builder;
  for (int q = 0; q < queries; ++q) {
    std::vector<double> ranks[2] = {{1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}};
    for (auto& list : ranks) random.shuffle(list);
    for (std::size_t d = 0; d < 6; ++d)
      builder.add({"q" + std::to_string(100 + q), "d" + std::to_string(d), ranks[trusted][d] == 1 ? 1.0 : 0.0,
                   true, std::vector<Cell>{{0, -ranks[0][d]}, {1, -ranks[1][d]}}});
  }
  return builder.finish({{"a", FeatureKind::rank, 6}, {"b", FeatureKind::rank, 6}}, {}).value();
}

TrainingResult pooled(const TrainingSet& own, const TrainingSet& others) {
  TrainingRequest request;
  request.train = &own;
  return pooled_learner(*find_learner("auto"), others).train(request).value();
}

double precision_on(const TrainingResult& result, const TrainingSet& set) {
  return validation_measure(set, "map").value().value(result.model.ranker->score(set.matrix));
}

double weight_in(const TrainingResult& result) {
  return result.model.training.at("pooled").at("weight").to_number<double>();
}

}  // namespace

TEST_CASE("With a single own query, other domains' queries say which list to trust", "[fusion][pooling]") {
  const TrainingSet own = queries_trusting(1, 1, 7);
  const TrainingSet fresh = queries_trusting(1, 40, 8);
  TrainingRequest request;
  request.train = &own;
  const auto alone = find_learner("auto")->train(request).value();
  const auto joint = pooled(own, queries_trusting(1, 40, 9));
  CHECK(weight_in(joint) == 0.05);
  CHECK(precision_on(joint, fresh) > precision_on(alone, fresh) + 0.1);
  CHECK(joint.model.training.at("pooled").at("queries") == 40);
  CHECK(joint.summary.find("40 judged queries of other domains count 0.05") != std::string::npos);
}

TEST_CASE("Other domains' queries that contradict the own ones are left", "[fusion][pooling]") {
  const TrainingSet own = queries_trusting(1, 30, 7);
  const auto joint = pooled(own, queries_trusting(0, 100, 9));
  CHECK(weight_in(joint) == 0.0);
  CHECK(precision_on(joint, queries_trusting(1, 40, 8)) > 0.9);
  CHECK(joint.model.training.at("pooled").at("among").as_array().size() == 3);
  CHECK(joint.model.training.at("pooled").at("measured_queries") == 30);
}

TEST_CASE("An own pair counts in a joint set wherever its documents stand", "[fusion][pooling]") {
  const auto one_query = [](double grade) {
    TrainingSetBuilder builder;
    builder.add({"q", "d0", grade, true, std::vector<Cell>{{0, -1.0}, {1, -6.0}}});
    builder.add({"q", "d1", 0.0, true, std::vector<Cell>{{0, -6.0}, {1, -1.0}}});
    return builder.finish({{"a", FeatureKind::rank, 6}, {"b", FeatureKind::rank, 6}}, {}).value();
  };
  TrainingSet own = queries_trusting(0, 1, 7);
  const TrainingSet clicked = one_query(0.0);
  TrainingSetBuilder builder;
  for (const TrainingSet* set : {&std::as_const(own), &clicked})
    for (std::size_t row = 0; row < set->grades.size(); ++row)
      builder.add({set == &own ? "a" : "q", set->documents[row], set->grades[row], true,
                   std::vector<Cell>{{0, set->matrix.value(row, 0)}, {1, set->matrix.value(row, 1)}}});
  own = builder.finish(clicked.matrix.features(), {}).value();
  own.queries[1].is_judged = false;
  const auto at = static_cast<std::uint32_t>(own.queries[1].begin);
  own.pairs = {{at, at + 1, 50.0}};  // d1 above d0, against what the others' query says
  const auto scores = pooled(own, one_query(1.0)).model.ranker->score(own.matrix);
  CHECK(scores[at + 1] > scores[at]);
}

TEST_CASE("Where only clicks are known, other domains' queries do not decide what clicks are worth",
          "[fusion][pooling]") {
  TrainingSet own = queries_trusting(1, 40, 7);
  for (QueryRange& query : own.queries) {
    query.id = "clicked " + query.id + "#1";
    query.is_judged = false;
    own.pairs.push_back(
        {static_cast<std::uint32_t>(query.begin), static_cast<std::uint32_t>(query.begin + 1), 1.0});
  }
  std::ranges::fill(own.grades, 0.0);
  TrainingRequest request;
  request.train = &own;
  const auto alone = find_learner("auto")->train(request).value();
  const auto joint = pooled(own, queries_trusting(1, 40, 9));
  CHECK_FALSE(joint.model.training.contains("pooled"));
  CHECK(joint.model.ranker->score(own.matrix) == alone.model.ranker->score(own.matrix));
}

TEST_CASE("The weight of other domains is measured from two own queries on", "[fusion][pooling]") {
  for (const int queries : {1, 2, 4}) {
    const auto joint = pooled(queries_trusting(1, queries, 7), queries_trusting(0, 40, 9));
    const JsonObject& record = joint.model.training.at("pooled").as_object();
    CHECK(record.at("measured_queries").to_number<int>() == (queries > 1 ? queries : 0));
    CHECK(record.at("among").as_array().size() == (queries > 1 ? 3U : 0U));
    CHECK(joint.model.training.at("judged_queries").to_number<int>() == queries);  // not the others'
  }
}

TEST_CASE("Training again in the same way counts the other domains as much", "[fusion][pooling]") {
  const TrainingSet own = queries_trusting(1, 3, 7);
  const auto joint = pooled(own, queries_trusting(1, 20, 9));
  TrainingRequest request;
  request.train = &own;
  const auto again = joint.again(request).value();
  CHECK(again.model.ranker->score(own.matrix) == joint.model.ranker->score(own.matrix));
}

TEST_CASE("The weight of other domains is measured on base queries not seen in training",
          "[fusion][pooling]") {
  TrainingSet own = queries_trusting(1, 30, 7);
  for (std::size_t q = 0; q < own.queries.size(); ++q)
    own.queries[q].id = "clicked b" + std::to_string(100 + q / 3) + "#" + std::to_string(q % 3);
  Learner noting = *find_learner("auto");
  std::size_t parts = 0;
  noting.train = [&](const TrainingRequest& request) {
    std::map<std::string_view, std::size_t> seen;
    for (const QueryRange& query : request.train->queries) ++seen[base_query_of(query.id)];
    for (const auto& [base, rows] : seen) CHECK(rows == 3);
    parts += seen.size() < 10 ? 1 : 0;
    return find_learner("reciprocal-ranks")->train(request);
  };
  TrainingRequest request;
  request.train = &own;
  CHECK(pooled_learner(noting, queries_trusting(1, 20, 9)).train(request).has_value());
  CHECK(parts == 5);
}
