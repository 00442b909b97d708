#include "service/judges/judge_pool.h"

#include <string>

#include <catch2/catch.hpp>

#include "tests/support/sample_search.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;

TEST_CASE("Hashed queries take no places among the most asked ones, and are counted", "[service][judging]") {
  const test::TemporaryFolder folder{test::TemporaryFolder::in_memory()};
  const auto store = test::opened_store(folder.path("store.db"));
  const auto ask = [&](const std::string& text, bool is_hashed, std::uint64_t times) {
    StoredSearch search = test::sample_search();
    search.slots.slots = {{"QUERY", text}};
    search.query = query_digest("secret", search.domain, search.slots);
    search.times = times;
    if (is_hashed) search.slots.slots.clear();
    REQUIRE(store->searches.add({&search, 1}).has_value());
  };
  for (int i = 0; i < 600; ++i) ask("hashed " + std::to_string(i), true, 9);
  CHECK(most_asked(*store, "shoes", 10).error().code == Code::bad_data);
  ask("rare", false, 1);
  ask("common", false, 2);
  const auto asked = most_asked(*store, "shoes", 10);
  REQUIRE(asked.has_value());
  REQUIRE(asked->queries.size() == 2);
  CHECK(asked->queries[0].slots.at("QUERY") == "common");
  CHECK(asked->queries[1].slots.at("QUERY") == "rare");
  CHECK(asked->wordless == 600);
}
