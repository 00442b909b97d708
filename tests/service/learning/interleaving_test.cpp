#include "service/learning/interleaving.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/query_syntax.h"
#include "core/random.h"
#include "fetchers/engines/index/local_engine.h"
#include "service/search/list_fusion.h"
#include "tests/support/fake_fetcher.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;

namespace {

using Ranking = std::vector<std::size_t>;

Ranking identity(std::size_t n) {
  Ranking out(n);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

/// All drafts of two rankings by the definition, one per sequence of coin tosses: the side whose turn it is
/// adds its best result that is not yet in the draft.
std::set<std::vector<std::pair<std::size_t, Team>>> all_drafts(const Ranking& a, const Ranking& b) {
  std::set<std::vector<std::pair<std::size_t, Team>>> drafts;
  const std::size_t rounds = (a.size() + 1) / 2;
  for (std::size_t coins = 0; coins < (std::size_t{1} << rounds); ++coins) {
    std::vector<std::pair<std::size_t, Team>> draft;
    for (std::size_t turn = 0; draft.size() < a.size(); ++turn) {
      const bool is_second_first = ((coins >> (turn / 2)) & 1) != 0;
      const bool is_challenger = (turn % 2 == 0) == is_second_first;
      for (const std::size_t item : is_challenger ? b : a) {
        const auto is_item = [&](const auto& entry) { return entry.first == item; };
        if (std::any_of(draft.begin(), draft.end(), is_item)) continue;
        draft.emplace_back(item, is_challenger ? Team::challenger : Team::champion);
        break;
      }
    }
    drafts.insert(draft);
  }
  return drafts;
}

}  // namespace

TEST_CASE("Team draft makes exactly the drafts of its definition", "[service][interleaving]") {
  Random random(3);
  for (std::size_t n = 0; n <= 6; ++n) {
    for (int trial = 0; trial < 20; ++trial) {
      Ranking a = identity(n);
      Ranking b = identity(n);
      random.shuffle(a);
      random.shuffle(b);
      const auto expected = all_drafts(a, b);
      std::set<std::vector<std::pair<std::size_t, Team>>> seen;
      for (int draw = 0; draw < 300; ++draw) {
        const Interleaved mixed = team_draft(a, b, random);
        REQUIRE(mixed.order.size() == n);
        std::vector<std::pair<std::size_t, Team>> draft;
        for (std::size_t i = 0; i < n; ++i) draft.emplace_back(mixed.order[i], mixed.teams[i]);
        REQUIRE(expected.contains(draft));
        seen.insert(draft);
      }
      CHECK(seen.size() == expected.size());
    }
  }
}

TEST_CASE("Clicks at random positions favour neither side", "[service][interleaving]") {
  Random random(5);
  double advantage = 0;
  constexpr int kSearches = 20000;
  for (int i = 0; i < kSearches; ++i) {
    Ranking a = identity(10);
    Ranking b = a;
    random.shuffle(b);
    const Interleaved mixed = team_draft(a, b, random);
    // A user who clicks by position alone, mostly at the top.
    const auto clicked = static_cast<std::size_t>(10 * std::pow(random.uniform(), 3));
    advantage += mixed.teams[clicked] == Team::champion ? 1 : -1;
  }
  // Three standard deviations of a fair coin.
  CHECK(std::abs(advantage) < 3 * std::sqrt(double{kSearches}));
}

TEST_CASE("Users who prefer what the challenger ranks high make it win", "[service][interleaving]") {
  Random random(6);
  InterleavingCounts counts;
  for (int i = 0; i < 200; ++i) {
    const Ranking champion = identity(10);
    const Ranking challenger{9, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    const Interleaved mixed = team_draft(champion, challenger, random);
    const auto at = std::find(mixed.order.begin(), mixed.order.end(), std::size_t{9}) - mixed.order.begin();
    ++(mixed.teams[static_cast<std::size_t>(at)] == Team::champion ? counts.champion : counts.challenger);
  }
  const InterleavingScore score = interleaving_score(counts);
  CHECK(score.low > 0.5);
  CHECK(score.challenger_share > 0.9);
}

TEST_CASE("The running score is a share with a confidence interval", "[service][interleaving]") {
  const InterleavingScore none = interleaving_score({0, 0, 12});
  CHECK(none.challenger_share == 0.5);
  CHECK(none.low == 0);
  CHECK(none.high == 1);
  CHECK(none.p == 1);
  // Wilson's interval of 8 out of 10, and the binomial test: 2 (1 + 10 + 45) / 1024.
  const InterleavingScore some = interleaving_score({2, 8, 0});
  CHECK(some.low == Approx(0.4901).margin(1e-4));
  CHECK(some.high == Approx(0.9433).margin(1e-4));
  CHECK(some.p == Approx(112.0 / 1024));
  CHECK(interleaving_score({20, 80, 5}).low > 0.5);
  const InterleavingScore even = interleaving_score({7, 7, 0});
  CHECK(even.p == 1);
  // Above 1000 searches a normal approximation replaces the exact test.
  const double exact = interleaving_score({470, 530, 0}).p;
  const double normal = interleaving_score({470, 531, 0}).p;
  CHECK(exact == Approx(normal).epsilon(0.1));
  CHECK(interleaving_score({0, 1000, 0}).p < 1e-300);
}

TEST_CASE("The share of interleaved searches is the configured one", "[service][interleaving]") {
  Random random(8);
  int interleaved = 0;
  for (int i = 0; i < 10000; ++i) interleaved += is_interleaved(0.25, random) ? 1 : 0;
  CHECK(std::abs(interleaved - 2500) < 130);
  CHECK_FALSE(is_interleaved(0, random));
  CHECK(is_interleaved(1, random));
}

TEST_CASE("A challenger orders the results that the query's conditions leave, by the texts in the index",
          "[service][interleaving]") {
  const test::TemporaryFolder folder;
  const std::string lines =
      R"({"url":"http://a.example/","title":"One","text":"much about significance tests"})"
      "\n"
      R"({"url":"http://b.example/","title":"Two","text":"tests of significance"})"
      "\n";
  REQUIRE(fetchers::build_local_index(folder.path("own.db"), {folder.write("d.jsonl", lines)}).has_value());
  LoadedDomain domain;
  domain.syntax_of = [](std::string_view) -> const QuerySyntax& { return *find_query_syntax("fts5"); };
  domain.open_indexes.push_back(std::make_shared<IndexVocabulary>(folder.path("own.db")));
  domain.challenger.emplace();
  domain.challenger->model = fusion::parse_model(R"({"format":"metafuse-model","version":1,
"learner":"rankboost","features":[{"name":"t@e","kind":"rank","depth":30}],"unranked":"absent",
"body":{"weak_rankings":[{"feature":0,"rank":2,"q_default":0,"alpha":-1}]},"training":{}})",
                                                 "model.json")
                                 .value();
  for (const std::string typed : {"tests -significance", "tests -much", "\"significance tests\""}) {
    fetchers::FetchedList list = test::list_of({"a.example", "b.example", "c.example", "d.example"});
    list.query = {"t", "e", "tests"};
    keep_best_of_each(list.list, 0);
    SearchAnswer answer;
    answer.typed = templates::parse_typed_query(typed);
    fuse_lists(domain, {list}, answer);
    REQUIRE(answer.results.size() < 4);
    std::set<std::string> results;
    for (const FusedResult& result : answer.results) results.insert(result.hit.key);
    std::set<std::string> firsts;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const SearchAnswer mixed = interleaved_answer(domain, answer, seed);
      std::set<std::string> seen;
      for (const FusedResult& result : mixed.results) seen.insert(result.hit.key);
      CHECK(seen == results);
      CHECK(mixed.teams.size() == results.size());
      firsts.insert(mixed.results.front().hit.key);
    }
    // the challenger puts the two that the list ranks first below the others
    CHECK(firsts.size() == (typed == "tests -significance" ? 1 : 2));
  }
}
