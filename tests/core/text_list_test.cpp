#include "core/text_list.h"

#include <catch2/catch.hpp>

using metafuse::TextList;

TEST_CASE("A text list keeps its texts separate including empty ones", "[core]") {
  TextList list{"b", "", "a long text that no small string could hold"};
  list.push_back("z");
  REQUIRE(list.size() == 4);
  CHECK(list[0] == "b");
  CHECK(list[1].empty());
  CHECK(list[2] == "a long text that no small string could hold");
  CHECK(list[3] == "z");
  CHECK(list.bytes() == 45);
  CHECK(TextList(3, "x") == TextList{"x", "x", "x"});
  CHECK_FALSE(TextList{"ab", "c"} == TextList{"a", "bc"});
}

TEST_CASE("A text is found only within the given ascending range", "[core]") {
  const TextList list{"z", "a", "c", "e", "a"};
  CHECK(list.find_ascending(1, 4, "a") == 1U);
  CHECK(list.find_ascending(1, 4, "c") == 2U);
  CHECK(list.find_ascending(1, 4, "e") == 3U);
  for (const char* missing : {"", "b", "d", "f", "z"}) CHECK_FALSE(list.find_ascending(1, 4, missing));
  CHECK_FALSE(list.find_ascending(2, 2, "c"));
}
