#include "fetchers/engines/index/word_search.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/sqlite_database.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/word_query.h"
#include "tests/support/slow_word_search.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;

namespace {

Deadline in_a_minute() {
  return {machine_clock(), std::chrono::seconds(60)};
}

/// Compares which documents match with those of the slow search, for some of an index's documents.
class MatchCheck {
 public:
  explicit MatchCheck(const std::string& path) {
    auto database = open_index(path);
    REQUIRE(database.has_value());
    database_ = *std::move(database);
    auto lists = ListReader::open(database_, WordKind::words);
    REQUIRE(lists.has_value());
    lists_ = *std::move(lists);
    const auto lengths = lists_.read_lengths(database_);
    REQUIRE(lengths.has_value());
    lengths_ = *lengths;
    auto pages = database_.prepare("SELECT id, url FROM pages ORDER BY id");
    REQUIRE(pages.has_value());
    const auto read = pages->for_each_row(
        [&](const SqliteRow& row) { documents_.emplace_back(row.integer(0), std::string(row.text(1))); });
    REQUIRE(read.has_value());
  }

  void check(const SlowSearch& slow, const Asked& asked, WordDice& dice) {
    QueryReader queries(WordKind::words, {}, kColumns);
    const auto read = queries.read(asked.text);
    REQUIRE(read.has_value());
    std::vector<std::int64_t> ids;
    std::vector<bool> expected;
    const auto scores = slow.search(asked);
    const std::size_t share = 1 + dice.below(50);
    for (const auto& [id, url] : documents_) {
      if (dice.below(share) > 0) continue;
      ids.push_back(id);
      expected.push_back(scores.contains(url));
    }
    const auto found = find_matching(lists_, lengths_, *read, ids, in_a_minute());
    REQUIRE(found.has_value());
    REQUIRE(*found == expected);
  }

 private:
  SqliteDatabase database_;
  ListReader lists_;
  DocumentLengths lengths_;
  std::vector<std::pair<std::int64_t, std::string>> documents_;
};

struct RankedIndex {
  TemporaryFolder folder;
  std::string database = folder.path("ranked.db");
  IndexOptions options;
  std::map<std::string, Columns> documents;

  RankedIndex() {
    options.updates = true;
    options.kinds = {WordKind::words, WordKind::parts};
  }

  void add(WordDice& dice, int first, int count) {
    for (int i = 0; i < count; ++i) documents[url_of(first + i)] = random_document(dice);
  }

  IndexReport write() {
    const auto built = build_local_index(database, {folder.write("d.jsonl", as_lines(documents))}, options);
    if (!built) FAIL(built.error().text);
    return *built;
  }

  /// Checks that the engine's answers to random queries equal those of the slow search.
  void check(WordDice& dice, int queries) const {
    struct Way {
      Weighting weighting;
      std::vector<double> weights;
    };
    MatchCheck matches(database);
    for (const Way& way : {Way{Weighting::bm25, {1, 1, 1}}, Way{Weighting::bm25, {10, .1, 0}},
                           Way{Weighting::ineb2, {1, 1, 1}}, Way{Weighting::ineb2, {3, 1, .5}}}) {
      LocalAccess access{database, {}};
      access.weighting = way.weighting;
      for (std::size_t i = 0; i < kColumns.size(); ++i)
        access.weights.emplace_back(kColumns[i], way.weights[i]);
      LocalEngine engine(access);
      const SlowSearch slow(documents, way.weighting, way.weights);
      for (int i = 0; i < queries; ++i) {
        const Asked asked = random_query(dice, 2);
        check_one(engine, slow, asked, dice);
        matches.check(slow, asked, dice);
      }
    }
  }

  static void check_one(LocalEngine& engine, const SlowSearch& slow, const Asked& asked, WordDice& dice) {
    INFO(asked.text);
    const std::size_t depth = 1 + dice.below(60);
    const std::size_t offset = dice.below(3) == 0 ? dice.below(40) : 0;
    const auto list =
        engine.search(asked.text, static_cast<int>(depth), static_cast<int>(offset), in_a_minute());
    if (!list) FAIL(list.error().text);
    const auto scores = slow.search(asked);
    std::vector<double> best;
    for (const auto& [url, score] : scores) best.push_back(score);
    std::sort(best.rbegin(), best.rend());
    REQUIRE(list->hits.size() == std::min(depth, best.size() - std::min(offset, best.size())));
    for (std::size_t i = 0; i < list->hits.size(); ++i) {
      const Hit& hit = list->hits[i];
      REQUIRE(scores.contains(hit.url));
      REQUIRE(*hit.score == Approx(best[offset + i]).epsilon(1e-9).margin(1e-12));
      REQUIRE(*hit.score == Approx(scores.at(hit.url)).epsilon(1e-9).margin(1e-12));
    }
  }
};

}  // namespace

TEST_CASE("Lists of words rank as a search that looks at every document", "[fetchers][local][ranking]") {
  WordDice dice(7);
  RankedIndex index;
  index.add(dice, 0, 2500);
  index.write();
  index.check(dice, 40);

  SECTION("After an update with changed and added and removed documents too") {
    for (int i = 0; i < 60; ++i) index.documents.erase(url_of(2400 + i));
    index.add(dice, 2480, 100);
    const auto report = index.write();
    CHECK(report.is_update);
    CHECK(report.changed > 10);
    CHECK(report.added == 80);
    CHECK(report.removed == 60);
    index.check(dice, 25);
    // the same lists as those of a new index
    index.options.updates = false;
    index.write();
    index.check(dice, 10);
  }
}

TEST_CASE("Updates of long lists write parts of them and rank as a search that looks at every document",
          "[fetchers][local][ranking]") {
  WordDice dice(12);
  RankedIndex index;
  index.options.kinds = {WordKind::words};
  index.add(dice, 0, 20'000);
  index.write();
  const auto parts = [&] {
    auto database = SqliteDatabase::open(index.database, {});
    auto rows = database->prepare("SELECT id, postings, places FROM list_parts");
    std::map<std::int64_t, std::string> bytes;
    REQUIRE(rows->for_each_row([&](const SqliteRow& row) {
                  bytes[row.integer(0)] = std::string(row.bytes(1)) + std::string(row.bytes(2));
                })
                .has_value());
    return bytes;
  };
  const auto before = parts();
  index.documents[url_of(700)] = {{"search1", "search2"}, split("search1 search1 search399"), {}};
  index.documents.erase(url_of(701));
  CHECK(index.write().is_update);
  const auto after = parts();
  const auto kept = std::count_if(before.begin(), before.end(), [&](const auto& part) {
    const auto found = after.find(part.first);
    return found != after.end() && found->second == part.second;
  });
  CHECK(kept > 10);
  CHECK(static_cast<std::size_t>(kept) < before.size());
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 900; ++i) index.documents.erase(url_of(static_cast<int>(dice.below(22'000))));
    for (int i = 0; i < 900; ++i) index.add(dice, static_cast<int>(dice.below(22'000)), 1);
    index.write();
  }
  index.check(dice, 4);
}

TEST_CASE("Equal scores are in the order of the documents", "[fetchers][local][ranking]") {
  RankedIndex index;
  for (int i = 0; i < 3000; ++i) index.documents[url_of(i)] = {{}, {"same", "words"}, {}};
  index.write();
  const auto list = LocalEngine({index.database, {}}).search("same", 20, 5, in_a_minute());
  REQUIRE(list.has_value());
  REQUIRE(list->hits.size() == 20);
  auto expected = std::next(index.documents.begin(), 5);
  for (const Hit& hit : list->hits) CHECK(hit.url == (expected++)->first);
}

TEST_CASE("A search ends at its deadline", "[fetchers][local][ranking]") {
  WordDice dice(8);
  RankedIndex index;
  index.add(dice, 0, 400);
  index.write();
  const Deadline passed(machine_clock(), std::chrono::seconds(-1));
  CHECK(LocalEngine({index.database, {}}).search("search1", 5, 0, passed).error().code == Code::try_again);
}

TEST_CASE("Damaged word lists are an error and never give a wrong answer", "[fetchers][local][ranking]") {
  WordDice dice(10);
  RankedIndex index;
  index.add(dice, 0, 400);
  index.options.updates = false;
  for (const char* damage :
       {"UPDATE list_parts SET postings = substr(postings, 1, length(postings) - 3)",
        "UPDATE list_parts SET postings = x'ffffffffffff'", "UPDATE list_parts SET postings = x''",
        "UPDATE list_parts SET places = x''", "UPDATE list_parts SET places = x'ffffffffff'",
        "UPDATE list_words SET codes = x''", "UPDATE list_words SET codes = x'ffffffffff'",
        "UPDATE list_words SET codes = x'00'", "UPDATE list_lengths SET lengths = x'010203'",
        "DELETE FROM list_lengths", "UPDATE list_lengths SET lengths = substr(lengths, 1, 400)",
        "UPDATE lists SET documents = 0", "UPDATE meta SET value = '{}' WHERE name = 'lists'",
        "UPDATE meta SET value = '[1]' WHERE name = 'languages'"}) {
    INFO(damage);
    index.write();
    {
      auto file = SqliteDatabase::open(index.database, {.mode = SqliteMode::create});
      REQUIRE(file->run(damage).has_value());
    }
    const auto list = LocalEngine({index.database, {}}).search("\"search1 search1\"", 1000, 0, in_a_minute());
    REQUIRE(list.has_error());
    CHECK(list.error().code == Code::bad_data);
    CHECK(list.error().text.find("rebuild the index") != std::string::npos);
  }
}
