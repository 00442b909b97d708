#include "core/recently_used.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using metafuse::RecentlyUsed;

namespace {

std::vector<std::string> names_in(RecentlyUsed<int>& values) {
  std::vector<std::string> names;
  for (const auto& [key, value] : values) names.push_back(key + std::to_string(value));
  return names;
}

}  // namespace

TEST_CASE("The least recently used value is removed first", "[core]") {
  RecentlyUsed<int> values;
  for (const char* name : {"a", "b", "c"}) values.put(name, 1);
  REQUIRE(values.use("a") != nullptr);
  REQUIRE(values.peek("b") != nullptr);  // does not count as use
  CHECK(names_in(values) == std::vector<std::string>{"a1", "c1", "b1"});
  CHECK(values.oldest() == 1);
  values.remove_oldest();
  CHECK(values.use("b") == nullptr);
  CHECK(values.size() == 2);
}

TEST_CASE("A value replaces one with the same name", "[core]") {
  RecentlyUsed<int> values;
  values.put("a", 1);
  values.put("b", 1);
  values.put("a", 2);
  CHECK(names_in(values) == std::vector<std::string>{"a2", "b1"});
  values.remove("a");
  values.remove("missing");
  CHECK(names_in(values) == std::vector<std::string>{"b1"});
  values.clear();
  CHECK(values.size() == 0);
  CHECK(values.peek("b") == nullptr);
}

TEST_CASE("A copy has the values and the order and nothing else in common", "[core]") {
  RecentlyUsed<int> values, copy;
  for (const char* name : {"a", "b", "c"}) values.put(name, 1);
  copy = values;
  REQUIRE(copy.use("a") != nullptr);
  *copy.use("a") = 2;
  copy.remove_oldest();
  CHECK(names_in(copy) == std::vector<std::string>{"a2", "c1"});
  CHECK(names_in(values) == std::vector<std::string>{"c1", "b1", "a1"});
  values.clear();
  CHECK(names_in(copy) == std::vector<std::string>{"a2", "c1"});
}
