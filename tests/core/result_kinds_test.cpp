#include "core/result_kinds.h"

#include <string>

#include <catch2/catch.hpp>

using namespace metafuse;

TEST_CASE("A length is read as engines write it", "[core][result_kinds]") {
  CHECK(length_in_seconds("1:02:03") == 3723);
  CHECK(length_in_seconds("4:05") == 245);
  CHECK(length_in_seconds("245.5") == 245.5);
  CHECK(length_in_seconds("PT1H2M3S") == 3723);
  CHECK(length_in_seconds("P1DT0.5S") == 86400.5);
}

TEST_CASE("A text that is no length has none", "[core][result_kinds]") {
  for (const std::string& text :
       {std::string(), std::string("inf"), std::string("nan"), std::string("1e3"), std::string("1e999:1"),
        std::string("-1"), std::string("+1"), std::string("1.2.3"), std::string("1:2:3:4"), std::string("1:"),
        std::string("P"), std::string("PT"), std::string("P1"), std::string("P1M"), std::string("PTS"),
        std::string("PT1.2.3S"), std::string(400, '9'), "PT" + std::string(400, '9') + "S"}) {
    INFO(text);
    CHECK_FALSE(length_in_seconds(text).has_value());
  }
}
