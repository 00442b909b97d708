#include <catch2/catch.hpp>

#include "tests/support/served_learners.h"

using namespace metafuse;

TEST_CASE("A domain is served and explained with a model of any learner", "[service][search]") {
  const std::vector<std::string> served = test::check_served(
      fusion::product_learners(), [](const std::string&) { return std::map<std::string, std::string>(); },
      [](const std::string&) { return true; });
  std::vector<std::string> offered;
  for (const fusion::Learner& learner : fusion::product_learners()) offered.push_back(learner.name);
  CHECK(offered.size() >= 6);
  CHECK(served == offered);
}
