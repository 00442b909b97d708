#pragma once

// Serving and explaining a model of a learner, whichever program trained it.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "core/random.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/training/registry.h"
#include "tests/support/test_server.h"

namespace metafuse::test {

/// A set in which the documents at the top of the first template's list are the better ones.
inline fusion::TrainingSet ranked_set() {
  using namespace fusion;
  std::vector<Feature> features;
  for (const char* name : {"plain@one", "plain@two", "placed@one"}) {
    features.emplace_back();
    features.back().name = name;
    features.back().kind = FeatureKind::rank;
    features.back().depth = 10;
  }
  Random random(3);
  TrainingSetBuilder builder;
  for (int q = 0; q < 12; ++q)
    for (int d = 0; d < 10; ++d) {
      std::vector<Cell> cells = {{0, -static_cast<double>(d + 1)}};
      if (random.uniform() < 0.6) cells.push_back({1, -1.0 - static_cast<double>(random.below(10))});
      if (random.uniform() < 0.6) cells.push_back({2, -1.0 - static_cast<double>(random.below(10))});
      builder.add({"q" + std::to_string(10 + q), "d" + std::to_string(d),
                   d < 2   ? 2.0
                   : d < 5 ? 1.0
                           : 0.0,
                   true, cells});
    }
  auto set = builder.finish(features, {});
  REQUIRE(set.has_value());
  return std::move(*set);
}

/// The contributions sum to the score; a learner that is not a sum has none and lists the best ranks first.
inline void check_explanation(const JsonObject& result, bool is_sum) {
  double sum = 0.0;
  double last_rank = 0.0;
  for (const Json& item : result.at("fusion").at("explanation").as_array()) {
    CHECK(item.at("weight").is_null() != is_sum);
    if (is_sum) {
      sum += item.at("weight").to_number<double>();
      continue;
    }
    CHECK(item.at("rank").to_number<double>() >= last_rank);
    last_rank = item.at("rank").to_number<double>();
  }
  if (is_sum) CHECK(sum == Approx(result.at("score").to_number<double>()).margin(1e-9));
}

/// Trains each learner, serves its model and checks the explanations.
///
/// in:  options_of - options with which a learner trains quickly; is_sum - whether it sums over lists
/// out: the names of the learners whose models were served
inline std::vector<std::string> check_served(
    fusion::Learners learners,
    const std::function<std::map<std::string, std::string>(const std::string&)>& options_of,
    const std::function<bool(const std::string&)>& is_sum) {
  using namespace fusion;
  const TrainingSet set = ranked_set();
  TestServer server;
  std::vector<std::string> served;
  for (const Learner& learner : learners) {
    INFO(learner.name);
    TrainingRequest request;
    request.train = &set;
    request.options = options_of(learner.name);
    const auto trained = learner.train(request);
    REQUIRE(trained.has_value());
    server.folder().write("models/pages.json", model_text(trained->model));
    REQUIRE(server.app().reloader().reload().has_value());
    const auto answer = parse_json(body_in(server.get("/search?q=ada&format=json&explain=1")), "answer");
    REQUIRE(answer.has_value());
    const JsonObject& fusion = answer->as_object().at("fusion").as_object();
    CHECK(std::string(fusion.at("method").as_string()) == trained->model.learner);
    if (learner.name != "auto") CHECK(trained->model.learner == learner.name);  // auto names its choice
    const JsonArray& results = answer->as_object().at("results").as_array();
    REQUIRE(results.size() == 4);
    for (const Json& result : results) check_explanation(result.as_object(), is_sum(learner.name));
    for (std::size_t i = 1; i < results.size(); ++i)
      CHECK(results[i - 1].at("score").to_number<double>() >= results[i].at("score").to_number<double>());
    served.push_back(learner.name);
  }
  return served;
}

}  // namespace metafuse::test
