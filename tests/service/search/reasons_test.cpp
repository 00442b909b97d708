#include <catch2/catch.hpp>

#include "tests/support/served_learners.h"

using namespace metafuse;

TEST_CASE("A domain is served and explained with a model of any learner", "[service][search]") {
  test::check_served(
      fusion::product_learners(), [](const std::string&) { return std::map<std::string, std::string>(); },
      [](const std::string&) { return true; });
}
