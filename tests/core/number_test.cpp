#include "core/number.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

using namespace metafuse;

TEST_CASE("A decimal number is read completely or not at all", "[core]") {
  double value = 0;
  CHECK(to_double("+1.5", value));
  CHECK(value == 1.5);
  CHECK(to_double("-.5e1", value));
  CHECK(value == -5);
  for (const char* text : {"", "+", "-", "+-1", "-+1", "++1", "--1", " 1", "1 ", "1x", "0x10", "e1"})
    CHECK_FALSE(to_double(text, value));
  CHECK(to_double("1e999", value));
  CHECK(std::isinf(value));
  CHECK(to_double("1e-999", value));
  CHECK(value == 0);
}

TEST_CASE("A whole number must fit into 64 bits", "[core]") {
  std::int64_t value = 0;
  CHECK(to_integer("+7", value));
  CHECK(value == 7);
  CHECK(to_integer("9223372036854775807", value));
  CHECK(value == std::numeric_limits<std::int64_t>::max());
  CHECK(to_integer("-9223372036854775808", value));
  CHECK(value == std::numeric_limits<std::int64_t>::min());
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "", "+", "-", "+-1", "++1", "1.0",
                           " 1", "1 ", "+/", "+:"})
    CHECK_FALSE(to_integer(text, value));
}

TEST_CASE("Reading a number moves past it and leaves the rest", "[core]") {
  const std::string_view text = "+2.5rest";
  const char* at = text.data();
  double value = 0;
  CHECK(read_double(at, text.data() + text.size(), value));
  CHECK(value == 2.5);
  CHECK(std::string_view(at, 4) == "rest");
  CHECK_FALSE(read_double(at, text.data() + text.size(), value));
  CHECK(std::string_view(at, 4) == "rest");
  const std::string_view whole = "-12.5";
  at = whole.data();
  std::int64_t integer = 0;
  CHECK(read_integer(at, whole.data() + whole.size(), integer));
  CHECK(integer == -12);
  CHECK(std::string_view(at, 2) == ".5");
}

TEST_CASE("A number is written with the fewest digits that read back to it", "[core]") {
  std::string text;
  append_number(text, 0.1);
  text += ' ';
  append_number(text, -2.0);
  CHECK(text == "0.1 -2");
}
