#include "service/store/searches.h"

#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/each_store.h"

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::add;
using metafuse::test::add_click;
using metafuse::test::click_on;
using metafuse::test::document_key;
using metafuse::test::kDay;
using metafuse::test::kNewYear;
using metafuse::test::sample_search;

namespace {

void check_searches(Store& store) {
  SECTION("A search is read back unchanged and an unknown id finds nothing") {
    const StoredSearch search = sample_search();
    add(store, search);
    const auto found = store.searches.find(search.id);
    REQUIRE(found.has_value());
    REQUIRE(found->has_value());
    CHECK(**found == search);
    CHECK_FALSE(store.searches.find(new_search_id())->has_value());
    CHECK_FALSE(store.searches.find("' OR 1=1 --")->has_value());
  }
  SECTION("A search with an existing id is left unchanged") {
    const StoredSearch search = sample_search();
    StoredSearch other = sample_search();
    other.id = search.id;
    other.domain = "other";
    add(store, search);
    const StoredSearch fresh = sample_search();
    const StoredSearch both[] = {other, fresh};
    REQUIRE(store.searches.add(both).has_value());
    CHECK(**store.searches.find(search.id) == search);
    CHECK(**store.searches.find(fresh.id) == fresh);
  }
  SECTION("An empty search and one with teams are read back unchanged") {
    StoredSearch empty;
    empty.id = new_search_id();
    add(store, empty);
    CHECK(**store.searches.find(empty.id) == empty);
    StoredSearch mixed = sample_search();
    mixed.shown = {{3, Team::champion}, {0, Team::challenger}, {1, Team::none}};
    add(store, mixed);
    CHECK(**store.searches.find(mixed.id) == mixed);
  }
  SECTION("A search with gaps between ranks and with documents set aside is read back unchanged") {
    StoredSearch search = sample_search();
    search.lists[0].ranks = {1, 11, 4294967295};
    search.set_aside = {0, 3};
    add(store, search);
    CHECK(**store.searches.find(search.id) == search);
  }
}

void check_clicks(Store& store) {
  const StoredSearch search = sample_search();
  add(store, search);
  SECTION("A result is clicked at most once per search") {
    CHECK(add_click(store, click_on(search, 1)) == ClickOutcome::recorded);
    CHECK(add_click(store, click_on(search, 1)) == ClickOutcome::duplicate);
    CHECK(add_click(store, click_on(search, 0)) == ClickOutcome::recorded);
    const auto clicks = store.clicks.of(search.id);
    REQUIRE(clicks->size() == 2);
    CHECK((*clicks)[0] == click_on(search, 0));
    CHECK((*clicks)[1] == click_on(search, 1));
  }
  SECTION("The daily caps limit the click weights per prefix and per key") {
    const ClickCaps caps{1.5, 100};
    CHECK(add_click(store, click_on(search, 0), caps) == ClickOutcome::recorded);
    CHECK(add_click(store, click_on(search, 1), caps) == ClickOutcome::recorded);
    CHECK(add_click(store, click_on(search, 2), caps) == ClickOutcome::capped);
    CHECK((*store.clicks.of(search.id))[1].weight == 0.5);
    CHECK(add_click(store, click_on(search, 2, kNewYear + kDay), caps) == ClickOutcome::recorded);
    Click keyed = click_on(search, 3);
    keyed.prefix = "q";
    keyed.key = "robot";
    CHECK(add_click(store, keyed, {10, 0.25}) == ClickOutcome::recorded);
    CHECK((*store.clicks.of(search.id)).back().weight == 0.25);
    const StoredSearch second = sample_search();
    add(store, second);
    keyed.search = second.id;
    keyed.prefix = "r";
    CHECK(add_click(store, keyed, {10, 0.25}) == ClickOutcome::capped);
    // A weight below both caps stays as it is.
    Click light = click_on(second, 0, keyed.at + kDay);
    light.key = keyed.key;
    light.weight = 0.125;
    CHECK(add_click(store, light, {10, 5}) == ClickOutcome::recorded);
    CHECK((*store.clicks.of(second.id)).front().weight == 0.125);
    // clicks without a key have no cap in common
    Click keyless = click_on(second, 1);
    keyless.prefix = "s";
    CHECK(add_click(store, keyless, {10, 0.25}) == ClickOutcome::recorded);
    CHECK((*store.clicks.of(second.id)).back().weight == 1);
  }
  SECTION("Clicked searches are listed latest first within the limit and the domain") {
    const StoredSearch later = sample_search();
    const StoredSearch foreign = sample_search("hats");
    add(store, later);
    add(store, foreign);
    add_click(store, click_on(search, 0, kNewYear + 10));
    add_click(store, click_on(later, 0, kNewYear + 20));
    add_click(store, click_on(foreign, 0, kNewYear + 30));
    add_click(store, click_on(search, 2, kNewYear + 5));
    const auto both = *store.clicks.searches("shoes", 10);
    REQUIRE(both.size() == 2);
    CHECK(both[0].search == later.id);
    CHECK(both[0].clicks == *store.clicks.of(later.id));
    CHECK(both[1].search == search.id);
    CHECK(both[1].clicks == *store.clicks.of(search.id));
    CHECK(both[1].clicks.size() == 2);
    const auto latest = *store.clicks.searches("shoes", 1);
    REQUIRE(latest.size() == 1);
    CHECK(latest[0].search == later.id);
    CHECK(store.clicks.searches("none", 10)->empty());
  }
  SECTION("A click changes the mark of its domain and no other's") {
    const std::string none = *store.clicks.mark("shoes");
    add_click(store, click_on(search, 0));
    const std::string one = *store.clicks.mark("shoes");
    CHECK(one != none);
    CHECK(*store.clicks.mark("shoes") == one);
    add_click(store, click_on(search, 1));  // in the same second
    CHECK(*store.clicks.mark("shoes") != one);
    CHECK(*store.clicks.mark("hats") == none);
  }
  SECTION("An interleaved draft is won by the team with more clicked weight") {
    int drafts = 0;
    const auto interleaved = [&](std::vector<std::uint32_t> clicked, const std::string& domain = "shoes") {
      StoredSearch mixed = sample_search(domain);
      mixed.query = "draft " + std::to_string(++drafts);
      mixed.challenger = "m2";
      mixed.shown = {{0, Team::champion}, {1, Team::challenger}, {2, Team::champion}, {3, Team::challenger}};
      add(store, mixed);
      for (const std::uint32_t position : clicked) add_click(store, click_on(mixed, position));
      return mixed;
    };
    interleaved({0, 2});
    interleaved({0, 2, 1});
    interleaved({1});
    interleaved({0, 1});
    interleaved({});
    interleaved({1}, "hats");  // by models of the same text
    CHECK(*store.clicks.interleaving_counts("shoes", "m1", "m2") == InterleavingCounts{2, 1, 1});
    CHECK(*store.clicks.interleaving_counts("shoes", "m1", "m3") == InterleavingCounts{});

    // All who ask the same within the hour are shown the same coins: together they have one vote.
    StoredSearch crowd = interleaved({1});
    for (const char person : {'a', 'b', 'c'}) {
      Click click = click_on(crowd, 0);
      click.search += std::string(16, person);
      add_click(store, click);
    }
    CHECK(*store.clicks.interleaving_counts("shoes", "m1", "m2") == InterleavingCounts{3, 1, 1});
    crowd.id = new_search_id();  // such as a page with another number of results
    crowd.at += 3599;
    add(store, crowd);
    add_click(store, click_on(crowd, 0));
    CHECK(*store.clicks.interleaving_counts("shoes", "m1", "m2") == InterleavingCounts{3, 1, 1});
    crowd.id = new_search_id();
    crowd.at += 1;  // the next hour tosses new coins
    add(store, crowd);
    add_click(store, click_on(crowd, 1));
    CHECK(*store.clicks.interleaving_counts("shoes", "m1", "m2") == InterleavingCounts{3, 2, 1});
  }
}

/// What statistics read: searches and clicks of one domain since a time.
void check_history(Store& store) {
  StoredSearch early = sample_search("shoes", kNewYear - 1);
  StoredSearch first = sample_search("shoes", kNewYear);
  StoredSearch last = sample_search("shoes", kNewYear + 5);
  StoredSearch foreign = sample_search("hats", kNewYear + 9);
  StoredSearch for_judges = sample_search("shoes", kNewYear + 7);
  last.times = 3;
  for_judges.times = 0;
  for (const StoredSearch* search : {&last, &foreign, &early, &for_judges, &first}) add(store, *search);
  const auto facts = store.searches.facts("shoes", kNewYear);
  REQUIRE(facts.has_value());
  std::map<UnixTime, std::uint64_t> times;
  for (const SearchFact& fact : *facts) times[fact.at] = fact.times;
  CHECK(times == std::map<UnixTime, std::uint64_t>{{kNewYear, 1}, {kNewYear + 5, 3}, {kNewYear + 7, 0}});
  const auto latest = [&](std::size_t limit) {
    std::vector<std::string> ids;
    for (const StoredSearch& search : *store.searches.latest("shoes", kNewYear, limit))
      ids.push_back(search.id);
    return ids;
  };
  CHECK(latest(9) == std::vector<std::string>{last.id, first.id});
  CHECK(latest(1) == std::vector<std::string>{last.id});

  for (const StoredSearch* search : {&first, &foreign, &last})
    add_click(store, click_on(*search, 1, search->at));
  add_click(store, click_on(first, 2, kNewYear - 1));
  const auto clicks = [&](std::size_t limit) {
    std::vector<std::string> ids;
    for (const ClickFact& click : *store.clicks.latest("shoes", kNewYear, limit)) ids.push_back(click.search);
    return ids;
  };
  CHECK(clicks(9) == std::vector<std::string>{last.id, first.id});
  CHECK(clicks(1) == std::vector<std::string>{last.id});
}

void check_asked_queries(Store& store) {
  const auto asked = [&](const std::string& query, UnixTime at, std::uint64_t times, std::size_t shown,
                         const std::string& domain = "shoes") {
    StoredSearch search = sample_search(domain, at);
    search.query = query;
    search.times = times;
    search.shown.resize(shown);
    add(store, search);
    return search.id;
  };
  asked("a", kNewYear + 9, 1, 4);
  asked("b", kNewYear, 5, 4);
  const std::string best = asked("b", kNewYear + 3, 1, 3);
  asked("b", kNewYear + 3, 1, 1);  // in the same second, with fewer results
  asked("b", kNewYear + 3, 1, 2);
  asked("c", kNewYear, 2, 4);
  asked("c", kNewYear, 90, 4, "hats");
  const auto queries = store.searches.asked_queries("shoes", 2);
  REQUIRE(queries.has_value());
  REQUIRE(queries->size() == 2);
  CHECK((*queries)[0].query == "b");
  CHECK((*queries)[0].times == 8);
  CHECK((*queries)[0].at == kNewYear + 3);
  CHECK((*queries)[0].search == best);
  CHECK((*queries)[1].query == "c");
  CHECK((*queries)[1].times == 2);
  // those that a judge has not graded come first
  REQUIRE(store.judgments.set({"shoes", "b", document_key(1), "ann", 1, best, kNewYear}).has_value());
  REQUIRE(store.judgments.set({"hats", "c", document_key(1), "ann", 1, best, kNewYear}).has_value());
  const auto order_for = [&](std::string_view judge) {
    std::string order;
    const auto found = store.searches.asked_queries("shoes", 3, judge);
    REQUIRE(found.has_value());
    for (const SearchedQuery& query : *found) order += query.query;
    return order;
  };
  CHECK(order_for("ann") == "cab");
  CHECK(order_for("bob") == "bca");
  // those whose words are not kept take no places; one that was asked before they were hashed is known
  for (const std::string query : {"x", "y", "c"}) {
    StoredSearch hashed = sample_search("shoes", kNewYear + 20);
    hashed.query = query;
    hashed.slots.slots.clear();
    hashed.times = 100;
    add(store, hashed);
  }
  CHECK(order_for("bob") == "cba");
  CHECK(order_for("") == "cba");
  CHECK_FALSE(store.searches.asked_queries("shoes", 1)->front().slots.slots.empty());
  CHECK(*store.searches.count_wordless("shoes") == 2);
  CHECK(*store.searches.count_wordless("hats") == 0);
  CHECK((**store.searches.find_query("shoes", "b")).search == best);
  CHECK_FALSE(store.searches.find_query("hats", "b")->has_value());
}

void check_asked(Store& store) {
  const auto asked = [&](const std::string& text, std::initializer_list<const char*> people, UnixTime at,
                         const std::string& domain = "shoes") {
    for (const char* one : people) {
      StoredSearch search = sample_search(domain);
      search.id = new_search_id();
      search.query = "digest of " + folded_query(text);
      search.slots = {{{"QUERY", text}}};
      add(store, search);
      Click click = click_on(search, 0, at);
      click.prefix = one;
      add_click(store, click);
    }
  };
  asked("red shoes", {"a", "b", "c", "d", "e"}, kNewYear);
  asked("red shoes", {"f"}, kNewYear);
  asked("blue shoes", {"a", "b", "c", "d", "a", "a"}, kNewYear);
  asked("green shoes", {"a", "b", "c", "d"},
        kNewYear);  // four people on each of two days may be the same four people
  asked("green shoes", {"e", "f", "g", "h"}, kNewYear + kDay);
  asked("hats", {"a", "b", "c", "d", "e"}, kNewYear, "hats");
  asked("old shoes", {"a", "b", "c", "d", "e", "f", "g"}, kNewYear + kDay);
  const auto texts = [&](std::size_t people, std::size_t limit) {
    const auto queries = store.clicks.popular_queries("shoes", people, limit);
    REQUIRE(queries.has_value());
    std::string out;
    for (const BaseQuery& query : *queries) out += (out.empty() ? "" : ", ") + query.slots.at("QUERY");
    return out;
  };
  CHECK(texts(5, 10) == "old shoes, red shoes");
  CHECK(texts(5, 1) == "old shoes");
  CHECK(texts(8, 10) == "");
  REQUIRE(store.privacy.hide_queries().has_value());
  CHECK(texts(5, 10) == "");
}

void check_judgments(Store& store) {
  StoredJudgment judgment{"shoes", "q1", document_key(1), "ann", 3, "s1", kNewYear};
  const auto set = [&] { REQUIRE(store.judgments.set(judgment).has_value()); };
  SECTION("Judgments are sorted and a judge's later judgment replaces the earlier one") {
    set();
    judgment.judge = "bob";
    judgment.grade = 0;
    set();
    judgment.document = document_key(0);
    judgment.search = "s2";
    judgment.at = kNewYear + 5;
    set();
    judgment.grade = 2;
    set();
    judgment.query = "q0";
    set();
    judgment.domain = "hats";
    set();
    const auto queries = store.judgments.queries("shoes");
    REQUIRE(queries->size() == 2);
    CHECK((*queries)[0].query == "q0");
    CHECK((*queries)[1].search == "s2");
    REQUIRE((*queries)[1].judgments.size() == 3);
    CHECK((*queries)[1].judgments[0].grade == 2);
    CHECK((*queries)[1].judgments[1].judge == "ann");
    CHECK((*queries)[1].judgments[2].judge == "bob");
  }
  SECTION("A judgment names the search by which it was last given") {
    set();
    judgment.search = "s3";
    set();
    CHECK((*store.judgments.queries("shoes"))[0].search == "s3");
  }
  SECTION("A domain's mark changes with its judgments alone") {
    set();
    const std::string before = *store.judgments.mark("shoes");
    judgment.grade = 2;  // in the same second
    set();
    const std::string after = *store.judgments.mark("shoes");
    CHECK(after != before);
    judgment.domain = "hats";
    set();
    CHECK(*store.judgments.mark("shoes") == after);
  }
  SECTION("A reset deletes only what it names") {
    set();
    judgment.domain = "hats";
    set();
    const StoredSearch search = sample_search();
    const StoredSearch foreign = sample_search("hats");
    add(store, search);
    add(store, foreign);
    add_click(store, click_on(search, 0));
    add_click(store, click_on(foreign, 0));
    CHECK(*store.reset_feedback("shoes", true, false) == RemovedCounts{0, 1, 0});
    CHECK(store.clicks.of(search.id)->empty());
    CHECK(store.judgments.queries("shoes")->size() == 1);
    CHECK(store.clicks.of(foreign.id)->size() == 1);
    CHECK(*store.reset_feedback("shoes", false, true) == RemovedCounts{0, 0, 1});
    CHECK(store.judgments.queries("shoes")->empty());
    CHECK(store.judgments.queries("hats")->size() == 1);
    CHECK(store.searches.find(search.id)->has_value());
  }
}

void check_feedback(Store& store) {
  SECTION("Searches") {
    check_searches(store);
  }
  SECTION("Clicks") {
    check_clicks(store);
  }
  SECTION("History") {
    check_history(store);
  }
  SECTION("Asked queries") {
    check_asked_queries(store);
  }
  SECTION("Queries that several people asked") {
    check_asked(store);
  }
  SECTION("Judgments") {
    check_judgments(store);
  }
}

}  // namespace

TEST_CASE("The SQLite store meets the contract of searches and feedback", "[service][store]") {
  test::check_on_sqlite(check_feedback);
}

TEST_CASE("The PostgreSQL store meets the contract of searches and feedback", "[service][store]") {
  test::check_on_postgres(check_feedback);
}

TEST_CASE("Rows without ranks are read as they were written before ranks were stored", "[service][store]") {
  StoredSearch search;
  search.documents = {"a", "b"};
  search.lists = {{"t@e", 10, false, {1, 0}}};
  search.shown = {{0, Team::none}};
  const std::string row =
      R"({"documents":["a","b"],"lists":[{"feature":"t@e","depth":10,"failed":false,"documents":[1,0])"
      R"(}],"shown":[0]})";
  CHECK(lists_text(search) == row);
  StoredSearch read;
  read.set_aside = {7};
  REQUIRE(read_lists_text(row, read).has_value());
  CHECK(read == search);
  for (const char* ranks :
       {"[1]", "[1,2,3]", "[2,2]", "[0,1]", "[-1,1]", "[1,4294967296]", "[1,\"2\"]", "{}"}) {
    std::string damaged = row;
    damaged.insert(damaged.find("[1,0]") + 5, std::string(",\"ranks\":") + ranks);
    CHECK(read_lists_text(damaged, read).has_error());
  }
  std::string beyond = row;
  beyond.insert(beyond.size() - 1, ",\"set_aside\":[2]");
  CHECK(read_lists_text(beyond, read).has_error());
}
