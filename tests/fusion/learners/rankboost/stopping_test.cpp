#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/json.h"
#include "core/random.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/learners/common/rounds.h"
#include "fusion/training/registry.h"
#include "tests/support/random_training_set.h"

using namespace metafuse;
using namespace metafuse::fusion;

TEST_CASE("Training that stops when flat keeps the rounds before its loss became flat",
          "[fusion][rankboost]") {
  Random random(5);
  int cut = 0;
  for (int input = 0; input < 30; ++input) {
    const TrainingSet set = test::random_training_set(random, {4, 12, 4});
    TrainingRequest request;
    request.train = &set;
    request.options = {{"rounds", "60"}, {"weak-learner", "3"}};
    const auto all = find_learner("rankboost")->train(request);
    if (!all) continue;  // no crucial pair
    // By the definition: the first t whose loss is at least .99 of the loss 6 rounds before; the loss before
    // any round is 1/2.
    std::vector<double> losses = {0.5};
    for (const JsonObject& line : all->trace) losses.push_back(line.at("ranking_loss").to_number<double>());
    std::size_t kept = all->trace.size();
    for (std::size_t t = 6; t < losses.size() && kept == all->trace.size(); ++t)
      if (losses[t - 6] - losses[t] <= 0.01 * losses[t - 6]) kept = std::max<std::size_t>(1, t - 6);
    request.options["stop-when-flat"] = "6";
    const auto flat = find_learner("rankboost")->train(request);
    REQUIRE(flat.has_value());
    CHECK(flat->trace.size() == kept);
    request.options = {{"rounds", std::to_string(kept)}, {"weak-learner", "3"}};
    CHECK(to_text(find_learner("rankboost")->train(request)->model.ranker->body()) ==
          to_text(flat->model.ranker->body()));
    cut += kept < all->trace.size() ? 1 : 0;
  }
  CHECK(cut > 5);
}

TEST_CASE("Among equally good numbers of rounds the smallest is kept", "[fusion][rankboost]") {
  BestRound best(0);
  for (const double value : {0.2, 0.7, 0.7, 0.6, 0.7}) CHECK(best.add(value));
  CHECK(best.rounds() == 2);
  CHECK(best.value() == 0.7);
  BestRound patient(2);
  CHECK(patient.add(0.5));
  CHECK(patient.add(0.5));        // no better: one round without progress
  CHECK_FALSE(patient.add(0.5));  // two rounds
  CHECK(patient.rounds() == 1);
}

TEST_CASE("The trace says for a question about all ranked documents how deep that is", "[rankboost][trace]") {
  TrainingSetBuilder builder;
  builder.add({"q", "d", 1.0, true, std::vector<Cell>{{0, -2.0}, {1, 0.5}}});
  const TrainingSet set =
      builder.finish({{"list", FeatureKind::rank, 30}, {"number", FeatureKind::value, 0}}, {}).value();
  TrainingRequest request;
  request.train = &set;
  const double least = -std::numeric_limits<double>::infinity();
  const JsonObject of_list = step_trace_line(request, 1, {0, least, 0.0, 1.0}, 7.0);
  CHECK(of_list.at("rank") == Json(7));
  const JsonObject of_number = step_trace_line(request, 1, {1, least, 0.0, 1.0}, 7.0);
  CHECK_FALSE(of_number.contains("rank"));
  CHECK(of_number.at("threshold").is_null());
}
