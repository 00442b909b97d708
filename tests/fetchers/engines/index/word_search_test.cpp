#include "fetchers/engines/index/word_search.h"

#include <array>
#include <cmath>
#include <random>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "core/sqlite_database.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/word_query.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

const SteadyClock kWordSearchClock;

Deadline in_a_minute() {
  return {kWordSearchClock, std::chrono::seconds(60)};
}

using Scored = std::vector<std::pair<std::string, double>>;  // URL, score

/// The results of FTS5 itself, which are the reference.
Scored plain_search(const std::string& path, const std::string& table, const std::string& bm25,
                    const std::string& query, int depth, int offset) {
  auto database = SqliteDatabase::open(path, {});
  REQUIRE(database.has_value());
  auto row =
      database->prepare("SELECT p.url, -d.score FROM (SELECT rowid AS id, rank AS score FROM " + table +
                        " WHERE " + table + " MATCH ?1 AND rank MATCH '" + bm25 +
                        "' ORDER BY rank, rowid LIMIT ?2 OFFSET ?3) AS d JOIN pages AS p ON p.id = d.id "
                        "ORDER BY d.score, d.id");
  REQUIRE(row.has_value());
  row->bind(query, depth, offset);
  Scored out;
  const auto read = row->for_each_row(
      [&](const SqliteRow& found) { out.emplace_back(std::string(found.text(0)), found.number(1)); });
  if (!read) FAIL(query << ": " << read.error().text);
  return out;
}

std::int64_t number_in(const std::string& path, const char* sql) {
  auto database = SqliteDatabase::open(path, {});
  REQUIRE(database.has_value());
  auto statement = database->prepare(sql);
  REQUIRE(statement.has_value());
  const auto row = statement->next();
  REQUIRE((row.has_value() && row->has_value()));
  return (*row)->integer(0);
}

Scored engine_search(LocalEngine& engine, const std::string& query, int depth, int offset) {
  const auto list = engine.search(query, depth, offset, in_a_minute());
  if (!list) FAIL(query << ": " << list.error().text);
  Scored out;
  for (const Hit& hit : list->hits) out.emplace_back(hit.url, *hit.score);
  return out;
}

/// Draws words so that a few occur nearly everywhere and most are rare.
class WordDice {
 public:
  explicit WordDice(unsigned seed) : numbers_(seed) {}

  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(numbers_);
  }

  std::string word() {
    const double place = std::pow(400.0, std::uniform_real_distribution<double>(0, 1)(numbers_));
    return "search" + std::to_string(static_cast<int>(place));
  }

  std::string words(std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += (i > 0 ? " " : "") + word();
    return out;
  }

 private:
  std::mt19937 numbers_;
};

std::string random_documents(WordDice& dice, int first, int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    // only a few different lengths, so that many documents have the same score
    lines += "{\"url\":\"http://" + std::to_string(first + i) + "/\",\"title\":\"" +
             dice.words(dice.below(4)) + "\",\"text\":\"" +
             dice.words(1 + 3 * dice.below(dice.below(30) == 0 ? 40 : 4)) + "\"";
    if (dice.below(3) == 0) lines += ",\"tags\":\"" + dice.words(2) + "\"";
    lines += "}\n";
  }
  return lines;
}

std::string random_query(WordDice& dice) {
  const auto one = [&] {
    const std::array<const char*, 8> before = {
        "", "", "", "", "title : ", "{title tags}: ", "TEXT:", "tags : "};
    const std::string word = dice.word();
    return before[dice.below(before.size())] + (dice.below(5) == 0 ? '"' + word + '"' : word);
  };
  const auto joined = [&](const std::string& between, std::size_t count) {
    std::string out = one();
    for (std::size_t i = 1; i < count; ++i) out += between + one();
    return out;
  };
  switch (dice.below(8)) {
    case 0:
      return one();
    case 1:
      return joined(" ", 2 + dice.below(3));
    case 2:
      return joined(" AND ", 2 + dice.below(3));
    case 3:
      return joined(" OR ", 2 + dice.below(4));
    case 4:
      return "(" + joined(" OR ", 2) + ") AND (" + joined(" OR ", 3) + ")";
    case 5:
      return "text : (" + joined(" OR ", 3) + ") NOT " + one();
    case 6:
      return joined(" ", 2) + " NOT (" + joined(" OR ", 2) + ")";
    default:
      return one() + " NOT " + one() + " AND (" + joined(" OR ", 2) + ") NOT " + one();
  }
}

/// A condition as text, with its words as numbers.
std::string form_of(const QueryNode& node) {
  if (node.kind == QueryNode::Kind::word) return std::to_string(node.word);
  const char* between = node.kind == QueryNode::Kind::all   ? " & "
                        : node.kind == QueryNode::Kind::any ? " | "
                                                            : " - ";
  std::string out = "(";
  for (const QueryNode& child : node.children) out += (out == "(" ? "" : between) + form_of(child);
  return out + ")";
}

struct RankedIndex {
  test::TemporaryFolder folder;
  std::string database = folder.path("ranked.db");
  IndexOptions options;

  RankedIndex() {
    options.updates = true;
    options.common_word = 150;
    options.tokenizers = {"porter", "trigram"};
  }

  IndexReport write(const std::string& documents) {
    const auto built = build_local_index(database, {folder.write("d.jsonl", documents)}, options);
    if (!built) FAIL(built.error().text);
    return *built;
  }

  /// Checks that the engine's answers to random queries equal those of FTS5 to the last digit.
  void check(WordDice& dice, int queries) const {
    struct Way {
      const char *tokenizer, *table, *bm25;
      std::vector<std::pair<std::string, double>> weights;
    };
    const std::vector<Way> ways = {
        {"", "documents", "bm25(1, 1, 1)", {}},
        {"unicode61", "documents", "bm25(10, .1, 0)", {{"title", 10}, {"text", .1}, {"tags", 0}}},
        {"porter", "documents_porter", "bm25(1, 1.7, 1)", {{"text", 1.7}}}};
    const std::size_t most = 40;
    for (const Way& way : ways) {
      LocalEngine engine({database, way.weights, "", way.tokenizer});
      for (int i = 0; i < queries; ++i) {
        const std::string query = random_query(dice);
        const int depth = 1 + static_cast<int>(dice.below(most));
        const int offset = dice.below(3) == 0 ? static_cast<int>(dice.below(most)) : 0;
        INFO(way.tokenizer << ": " << query << ", " << depth << " from " << offset);
        REQUIRE(engine_search(engine, query, depth, offset) ==
                plain_search(database, way.table, way.bm25, query, depth, offset));
      }
    }
  }
};

}  // namespace

TEST_CASE("Word lists rank exactly as FTS5 including ties", "[fetchers][local][ranking]") {
  WordDice dice(7);
  RankedIndex index;
  const std::string first = random_documents(dice, 0, 3000);
  index.write(first);
  index.check(dice, 150);

  SECTION("After an update with changed and added and removed documents too") {
    const std::string kept = first.substr(0, first.find("{\"url\":\"http://2900/"));
    const auto report = index.write(kept + random_documents(dice, 2880, 150));
    CHECK(report.is_update);
    CHECK(report.changed > 0);
    CHECK(report.added == 30);
    const auto changed = [&] { return number_in(index.database, "SELECT max(changed) FROM ranking"); };
    CHECK(changed() == static_cast<std::int64_t>(report.added + report.changed + report.removed));
    index.check(dice, 100);
    // the last documents are removed, and with them the ends of lists
    const auto shorter = index.write(kept);
    CHECK(shorter.removed == 130);
    CHECK(changed() > 200);
    index.check(dice, 60);
    // after so many changes the common words are determined again
    index.write(random_documents(dice, 2900, 500));
    CHECK(changed() == 0);
    index.check(dice, 60);
  }
}

TEST_CASE("Word lists answer queries of words and FTS5 answers the others", "[fetchers][local][ranking]") {
  WordDice dice(8);
  RankedIndex index;
  index.write(random_documents(dice, 0, 400));
  auto database = SqliteDatabase::open(index.database, {});
  REQUIRE(database.has_value());
  SharedLengths lengths;
  auto search = WordSearch::open(
      *database, {index.database, {"documents", "unicode61"}, {"title", "text", "tags"}, {1, 1, 1}}, lengths);
  REQUIRE((search.has_value() && search->has_value()));
  const auto by_lists = [&](const std::string& query) {
    const auto found = (*search)->find(query, 5, in_a_minute());
    if (!found) FAIL(found.error().text);
    return found->has_value();
  };
  for (int i = 0; i < 100; ++i) {
    const std::string query = random_query(dice);
    INFO(query);
    // a column filter inside another is answered by FTS5
    if (!query.starts_with("text : (")) CHECK(by_lists(query));
  }
  CHECK(by_lists("unheard"));
  for (const char* query :
       {"\"search1 search2\"", "search*", "NEAR(search1 search2)", "search1 OR search2 search3",
        "search1 AND", "colour : search1", "\"\"", "search1 + search2", "^search1"})
    CHECK_FALSE(by_lists(query));
  CHECK((*search)->find("search1", 0, in_a_minute())->value().empty());
  const Deadline passed(kWordSearchClock, std::chrono::seconds(-1));
  CHECK((*search)->find("search1", 5, passed).error().code == Code::try_again);
}

TEST_CASE("An index without word lists is searched by FTS5 and gets lists by an update",
          "[fetchers][local][ranking]") {
  WordDice dice(9);
  RankedIndex index;
  const std::string documents = random_documents(dice, 0, 300);
  index.write(documents);
  {
    auto file = SqliteDatabase::open(index.database, {.mode = SqliteMode::create});
    REQUIRE(file.has_value());
    REQUIRE(
        file->run("DROP TABLE ranking; DROP TABLE ranking_lengths; DROP TABLE ranking_words;").has_value());
  }
  index.check(dice, 20);
  CHECK(index.write(documents).is_update);
  CHECK(number_in(index.database, "SELECT count(*) FROM ranking_words") > 3);
  index.check(dice, 20);
}

TEST_CASE("Damaged word lists are an error and never give a wrong answer", "[fetchers][local][ranking]") {
  WordDice dice(10);
  RankedIndex index;
  index.write(random_documents(dice, 0, 400));
  for (const char* damage :
       {"UPDATE ranking_words SET postings = substr(postings, 1, length(postings) - 3)",
        "UPDATE ranking_words SET postings = x'ffffffffffff'", "UPDATE ranking_words SET postings = x''",
        "UPDATE ranking_lengths SET lengths = x'010203'", "DELETE FROM ranking_lengths",
        "UPDATE ranking_lengths SET lengths = substr(lengths, 1, 400)", "UPDATE ranking SET documents = 0"}) {
    INFO(damage);
    index.options.updates = false;
    index.write(random_documents(dice, 0, 400));
    {
      auto file = SqliteDatabase::open(index.database, {.mode = SqliteMode::create});
      REQUIRE(file->run(damage).has_value());
    }
    const auto list = LocalEngine({index.database, {}}).search("search1", 1000, 0, in_a_minute());
    REQUIRE(list.has_error());
    CHECK(list.error().code == Code::bad_data);
    CHECK(list.error().text.find("rebuild the index") != std::string::npos);
  }
}

TEST_CASE("A query of words is parsed as FTS5 parses it", "[fetchers][local][ranking]") {
  const std::vector<std::string> columns = {"title", "text"};
  const auto words = [&](const std::string& query) { return read_word_query(query, columns)->words; };
  using Words = std::vector<QueryWord>;
  CHECK(words("a OR \"b\"\"c\"") == Words{{"a", kAllColumns}, {"b\"c", kAllColumns}});
  CHECK(words("Title:a b AND text : (c OR {title text} : d)") ==
        Words{{"a", 1}, {"b", kAllColumns}, {"c", 2}, {"d", 2}});
  const auto form = [&](const std::string& query) {
    const auto read = read_word_query(query, columns);
    return read ? form_of(read->root) : "none";
  };
  CHECK(form("a b") == "(0 & 1)");
  CHECK(form("(a OR b OR c) AND d NOT e NOT f") == "(((0 | 1) | 2) & ((3 - 4) - 5))");
  CHECK(form("(a OR b) AND c d NOT (e OR f)") == "((0 | 1) & ((2 & 3) - (4 | 5)))");
  for (const char* other :
       {"", "a b OR c", "a NOT (b AND c)", "(a NOT b) OR c", "(a) b", "a (b)", "a*", "title : text : a",
        "\"a", "a b)", "NOT a", "a AND", "text : (title : a)", "{title : a", "NEAR", "a-b"})
    CHECK_FALSE(read_word_query(other, columns).has_value());
  std::string many = "w";
  for (std::size_t i = 1; i < kMaxQueryWords; ++i) many += " w";
  CHECK(read_word_query(many, columns).has_value());
  CHECK_FALSE(read_word_query(many + " w", columns).has_value());
  CHECK_FALSE(read_word_query(std::string(1000, '(') + "a" + std::string(1000, ')'), columns).has_value());
}

TEST_CASE("A list of documents is read back unchanged", "[fetchers][local][ranking]") {
  WordDice dice(11);
  std::vector<std::uint32_t> lengths;
  std::vector<std::pair<std::uint32_t, ColumnCounts>> written;
  for (std::uint32_t id = 0; id < 20'000; ++id) {
    lengths.push_back(static_cast<std::uint32_t>(100 + dice.below(50)));
    if ((id > 6000 && id < 11'000) || dice.below(2) == 0) continue;
    ColumnCounts counts;
    // a few documents have rare counts, so that codes of every size occur
    counts.emplace_back(0, static_cast<std::uint32_t>(1 + dice.below(1 + dice.below(200))));
    if (dice.below(2) == 0) counts.emplace_back(63, 7);
    written.emplace_back(id, counts);
  }
  PostingListWriter writer(lengths);
  for (const auto& [id, counts] : written) writer.add(id, writer.code_of(counts));
  const std::string bytes = writer.finish();
  const auto list = PostingList::read(bytes);
  REQUIRE(list.has_value());
  CHECK(list->documents_in(kAllColumns) == written.size());
  CHECK(list->documents_in(2) == 0);
  PostingCursor cursor(*list);
  std::vector<std::pair<std::uint32_t, ColumnCounts>> read;
  std::array<PostingCursor::Posting, PostingList::kWindow> postings;
  for (std::uint32_t window = 0; cursor.advance(window) && !cursor.is_at_end();
       window = cursor.window() + 1) {
    REQUIRE(cursor.read(postings));
    std::uint32_t shortest = 1000;
    for (std::uint32_t i = 0; i < cursor.documents(); ++i) {
      const std::uint32_t id = cursor.window() * PostingList::kWindow + postings[i].place;
      read.emplace_back(id, list->codes[postings[i].code].counts);
      CHECK(((cursor.code_bits() >> std::min(postings[i].code, 63U)) & 1) != 0);
      shortest = std::min(shortest, lengths[id]);
    }
    CHECK(cursor.shortest() == shortest);
  }
  CHECK(read == written);
  CHECK_FALSE(PostingList::read("").has_value());
  // Truncated or changed bytes are refused or read as another list, and never read beyond their end.
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = bytes.substr(0, dice.below(3) == 0 ? dice.below(bytes.size()) : bytes.size());
    if (!damaged.empty())
      damaged[dice.below(std::min<std::size_t>(damaged.size(), 3000))] ^=
          static_cast<char>(1 + dice.below(255));
    const auto other = PostingList::read(std::move(damaged));
    if (!other) continue;
    PostingCursor at(*other);
    for (std::uint32_t window = 0; at.advance(window) && !at.is_at_end(); window = at.window() + 1)
      if (!at.read(postings)) break;
  }
}
