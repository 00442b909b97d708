#include "service/judges/judge_pool.h"

#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "service/config/config.h"
#include "service/config/snapshot.h"
#include "tests/support/fake_fetcher.h"
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
  folder.write("shoes.yaml",
               "version: 1\ndomain: shoes\ndepth: 10\nslots: {QUERY: {required: true}}\n"
               "templates: [{id: all, engine: one, query: '{QUERY}'}]\n");
  folder.write("metafuse.yaml", "version: 1\ntemplates: [shoes.yaml]\n");
  const auto config = read_config(folder.path("metafuse.yaml"));
  REQUIRE(config.has_value());
  const auto fetcher =
      std::make_shared<test::FakeFetcher>([](const ExpandedQuery&) { return fetchers::FetchedList{}; });
  const auto snapshot = load_snapshot(*config, [&](const ServerConfig&) -> Result<LoadedEngines> {
    return LoadedEngines{{"one"}, fetcher, {}, {}};
  });
  REQUIRE(snapshot.has_value());
  const auto ten_most_asked = [&] { return most_asked(*store, **snapshot, "shoes", 10, machine_clock()); };
  CHECK(ten_most_asked().error().code == Code::bad_data);
  ask("rare", false, 1);
  ask("common", false, 2);
  const auto asked = ten_most_asked();
  REQUIRE(asked.has_value());
  REQUIRE(asked->queries.size() == 2);
  CHECK(asked->queries[0].slots.at("QUERY") == "common");
  CHECK(asked->queries[1].slots.at("QUERY") == "rare");
  CHECK(asked->wordless == 600);
}
