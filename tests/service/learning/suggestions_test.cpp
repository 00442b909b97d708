#include <algorithm>

#include <catch2/catch.hpp>

#include "service/learning/judging.h"
#include "service/store/store.h"
#include "tests/support/command.h"
#include "tests/support/sample_search.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;
using namespace metafuse::test;

namespace {

/// A search with two lists, of the same or of opposite order.
StoredSearch search_of(const std::string& query, bool do_lists_agree) {
  StoredSearch search = sample_search();
  search.slots.slots = {{"QUERY", query}};
  search.query = query_digest("secret", "shoes", search.slots);
  for (std::string& document : search.documents) document = query + "." + document;
  search.lists = {{"a@e1", 10, false, {0, 1, 2, 3}}, {"b@e2", 10, false, {0, 1, 2, 3}}};
  if (!do_lists_agree) std::reverse(search.lists[1].documents.begin(), search.lists[1].documents.end());
  return search;
}

}  // namespace

TEST_CASE("Queries whose lists disagree are suggested for judging but judged ones never",
          "[service][judging]") {
  const TemporaryFolder folder;
  const std::string path = folder.path("store.db");
  {
    const auto store = open_store(path).value();
    SuggestionOptions options;
    options.domain = "shoes";
    options.now = kNewYear;
    CHECK(suggested_queries(*store, options)->empty());
    for (const auto& [query, agrees] :
         {std::pair("settled", true), std::pair("open", false), std::pair("done", false)}) {
      const StoredSearch search = search_of(query, agrees);
      REQUIRE(store->searches.add({&search, 1}).has_value());
      if (query == std::string("done"))
        REQUIRE(
            store->judgments.set({"shoes", search.query, search.documents[0], "ann", 1, search.id, kNewYear})
                .has_value());
    }
    const auto suggestions = suggested_queries(*store, options);
    REQUIRE(suggestions.has_value());
    REQUIRE(suggestions->size() == 2);
    CHECK(suggestions->at(0).asked.slots.slots.at("QUERY") == "open");
    CHECK(suggestions->at(0).disagreement > suggestions->at(1).disagreement);
    CHECK(suggestions->at(0).documents.size() == 4);
    JudgingState state = judging_state(*store, "shoes", "ann").value();
    order_by(*suggestions, state);
    CHECK(state.queries[0].asked.query == suggestions->at(0).asked.query);
    CHECK(state.queries[2].own_documents == 1);
  }
  const auto shown = run_metafuse({"suggest-judgments", "--store", path, "--domain", "shoes", "-n", "1"});
  CHECK(shown.status == 0);
  CHECK(shown.out.starts_with("open\t"));
  CHECK(run_metafuse({"suggest-judgments", "--store", path, "--domain", "none"}).status == 65);
}
