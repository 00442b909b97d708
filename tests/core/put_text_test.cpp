#include "core/put_text.h"

#include <cstdint>
#include <limits>
#include <string>

#include <catch2/catch.hpp>

using namespace metafuse;

TEST_CASE("Texts of any size are copied whole, and nothing beside them", "[core]") {
  std::string text;
  for (int size = 0; size < 80; ++size, text += static_cast<char>('!' + size)) {
    std::string copy(100, ' ');
    CHECK(put_text(copy.data() + 1, text) == copy.data() + 1 + text.size());
    CHECK(copy == ' ' + text + std::string(99 - text.size(), ' '));
  }
}

TEST_CASE("Whole numbers are written as std::to_string writes them", "[core]") {
  char text[kMostWholeDigits];
  const auto text_of = [&](std::uint64_t number) { return std::string(text, put_whole(text, number)); };
  for (std::uint64_t number = 0; number < 1200; ++number) CHECK(text_of(number) == std::to_string(number));
  CHECK(text_of(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
}
