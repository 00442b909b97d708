#include <cmath>

#include <catch2/catch.hpp>

#include "fusion/data/fused_order.h"
#include "lab/learners/mpboost/boost.h"

using namespace metafuse::fusion;
using namespace metafuse::lab::mpboost;

TEST_CASE("Directed distances follow their equations in the paper", "[fusion][mpboost]") {
  CHECK(directed_distance(Distance::binary, 9.0, 3.0) == 1.0);
  CHECK(directed_distance(Distance::constant, 0.4, 3.0) == 0.4);
  CHECK(directed_distance(Distance::ldd, 0.2, 3.0) == Approx(0.6));
  CHECK(directed_distance(Distance::logdd, 3.0, 2.0) == Approx(std::log(7.0)));
  CHECK(directed_distance(Distance::logitdd, 0.5, 2.0) == Approx(1.0 / (1.0 + std::exp(-1.0))));
}

TEST_CASE("Directed distances grow with the difference of grades as eq. (4) requires", "[fusion][mpboost]") {
  for (const Distance kind : {Distance::ldd, Distance::logdd, Distance::logitdd})
    for (const double parameter : parameter_grid(kind)) {
      double last = 0.0;
      for (const double difference : {0.25, 0.5, 1.0, 2.0, 4.0}) {
        CHECK(directed_distance(kind, parameter, difference) > last);
        last = directed_distance(kind, parameter, difference);
      }
    }
}

// Grades in score order 0, 2, 1: DCG = 0 + 3/1 + 1/log2 3; ideal 2, 1, 0: 3 + 1/1 + 0. The second position
// is not discounted, since 1/log2(2) = 1.
TEST_CASE("NDCG has the paper's discount of 1 at the first two positions", "[fusion][mpboost]") {
  TrainingSet set;
  set.matrix = FeatureMatrix({{"f", FeatureKind::value, 0}}, 5);
  set.queries = {{"a", 0, 3, 1.0}, {"nothing relevant", 3, 5, 1.0}};
  set.grades = {2, 0, 1, 0, 0};
  const auto rows = ndcg_by_query(set, {0.5, 0.9, 0.1, 0.3, 0.2}, 4);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0][0] == Approx(0.0));
  CHECK(rows[0][1] == Approx(3.0 / 4.0));
  CHECK(rows[0][2] == Approx((3.0 + 1.0 / std::log2(3.0)) / 4.0));
  CHECK(rows[0][3] == rows[0][2]);
  CHECK(mean_ndcg(set, {3, 1, 2, 0, 0}, 5) == Approx(1.0));
  // documents with equal scores keep their order
  CHECK(ndcg_by_query(set, {0.5, 0.5, 0.5, 0.3, 0.2}, 1)[0][0] == Approx(1.0));
}
