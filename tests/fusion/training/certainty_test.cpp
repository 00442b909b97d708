#include "fusion/training/certainty.h"

#include <map>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "evaluation/significance/significance.h"
#include "fusion/data/base_queries.h"
#include "fusion/input/training_set_builder.h"

using namespace metafuse;
using namespace metafuse::fusion;

namespace {

/// List "good" has the relevant document first, "poor" has it at a random place.
TrainingSet good_and_poor(int queries, bool is_good = true) {
  Random random(4);
  TrainingSetBuilder builder;
  for (int q = 0; q < queries; ++q) {
    std::vector<double> good{1, 2, 3, 4, 5, 6};
    std::vector<double> poor = good;
    if (!is_good) random.shuffle(good);
    random.shuffle(poor);
    for (std::size_t d = 0; d < good.size(); ++d) {
      const std::vector<Cell> cells{{0, -good[d]}, {1, -poor[d]}};
      builder.add({"q" + std::to_string(100 + q), "d" + std::to_string(d), d == 0 ? 1.0 : 0.0, true, cells});
    }
  }
  return builder.finish({{"good", FeatureKind::rank, 0}, {"poor", FeatureKind::rank, 0}}, {}).value();
}

CertaintyOptions by_rankboost() {
  CertaintyOptions options;
  options.learner = find_learner("rankboost");
  options.learner_options = {{"rounds", "10"}};
  options.measure = "recip_rank";
  return options;
}

}  // namespace

TEST_CASE("The sampled share of resamples above zero agrees with all resamples", "[fusion][certainty]") {
  // Two values have four equally likely resamples with the sums 2a, a + b, b + a, 2b. With 1 and -2 one is
  // above 0; with 1 and -1 one is above 0 and two are 0.
  CHECK(evaluation::bootstrap_share_above_zero(std::vector<double>{1.0, -2.0}, 1) ==
        Approx(0.25).margin(0.02));
  CHECK(evaluation::bootstrap_share_above_zero(std::vector<double>{1.0, -1.0}, 1) ==
        Approx(0.5).margin(0.02));
  CHECK(evaluation::bootstrap_share_above_zero(std::vector<double>{1.0, 2.0}, 1) == 1.0);
  CHECK(evaluation::bootstrap_share_above_zero({}, 1) == 0.5);
}

TEST_CASE("The interval of a list's share leaves out a twentieth of the bags at each end",
          "[fusion][certainty]") {
  std::vector<double> values;
  for (int i = 20; i >= 1; --i) values.push_back(i);
  CHECK(central_values(values) == std::pair(2.0, 19.0));
  values.pop_back();  // of 19 values none is left out
  CHECK(central_values(values) == std::pair(2.0, 20.0));
  CHECK(central_values({3.0}) == std::pair(3.0, 3.0));
}

TEST_CASE("A good list is certain and a poor one is not", "[fusion][certainty]") {
  const auto certainty = certainty_of(good_and_poor(40), by_rankboost());
  REQUIRE(certainty.has_value());
  CHECK(certainty->at("value").to_number<double>() == 1.0);  // the good list's order on each held-out query
  CHECK(certainty->at("rrf").to_number<double>() < 0.9);
  CHECK(certainty->at("better_than_rrf").to_number<double>() > 0.99);
  const JsonArray& lists = certainty->at("lists").as_array();
  REQUIRE(lists.size() == 2);
  CHECK(lists.at(0).at("positive").to_number<double>() == 1.0);
  CHECK(lists.at(0).at("low").to_number<double>() > lists.at(1).at("high").to_number<double>());
  const std::string text = certainty_text({{"certainty", *certainty}});
  CHECK(text.find("better than RRF with 100.0 %") != std::string::npos);
  CHECK(text.find("  good: ") != std::string::npos);
  CHECK(certainty_text({}).empty());
  CHECK(certainty_text({{"certainty", JsonObject{{"lists", JsonArray{1, JsonObject{}}}}}}).find("?") !=
        std::string::npos);
}

TEST_CASE("With random lists no advantage is certain", "[fusion][certainty]") {
  const auto certainty = certainty_of(good_and_poor(60, false), by_rankboost());
  REQUIRE(certainty.has_value());
  CHECK(certainty->at("better_than_rrf").to_number<double>() < 0.99);
  CHECK(certainty->at("low").to_number<double>() < 0.0);
}

TEST_CASE("Certainty is the same for any number of threads and refuses useless input",
          "[fusion][certainty]") {
  CertaintyOptions options = by_rankboost();
  const TrainingSet set = good_and_poor(12);
  const auto one = certainty_of(set, options);
  options.threads = 3;
  CHECK(to_text(Json(*certainty_of(set, options))) == to_text(Json(*one)));
  CHECK(certainty_of(good_and_poor(1), options).error().code == Code::bad_data);
  options.measure = "nothing";
  CHECK(certainty_of(set, options).error().code == Code::usage);
  TrainingSet values = set;
  std::vector<Feature> features = values.matrix.features();
  for (Feature& feature : features) feature.kind = FeatureKind::value;
  values.matrix = FeatureMatrix(features, set.matrix.document_count());
  CHECK(certainty_of(values, by_rankboost()).error().code == Code::bad_data);
}

TEST_CASE("Models are measured on base queries of which they have seen no search", "[fusion][certainty]") {
  TrainingSet set = good_and_poor(12);
  for (std::size_t q = 0; q < set.queries.size(); ++q)
    set.queries[q].id = "clicked b" + std::to_string(q / 2) + "#" + std::to_string(q);
  const Learner* real = find_learner("rankboost");
  Learner noting = *real;
  std::size_t folds = 0;
  noting.train = [&](const TrainingRequest& request) {
    std::map<std::string_view, std::size_t> seen;
    for (const QueryRange& query : request.train->queries) ++seen[base_query_of(query.id)];
    if (request.train->queries.size() < set.queries.size()) {  // others are samples
      ++folds;
      for (const auto& [base, rows] : seen) CHECK(rows == 2);
    }
    return real->train(request);
  };
  CertaintyOptions options = by_rankboost();
  options.learner = &noting;
  options.bags = 2;
  CHECK(certainty_of(set, options).has_value());
  CHECK(folds == options.folds);
  for (QueryRange& query : set.queries) query.id = "clicked b#" + query.id;
  CHECK(certainty_of(set, options).error().code == Code::bad_data);  // one base query alone
}
