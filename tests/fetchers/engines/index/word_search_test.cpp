#include "fetchers/engines/index/word_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <catch2/catch.hpp>

#include "core/sqlite_database.h"
#include "fetchers/engines/index/local_engine.h"
#include "fetchers/engines/index/word_query.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

Deadline in_a_minute() {
  return {machine_clock(), std::chrono::seconds(60)};
}

/// The words of each column of a document.
using Columns = std::vector<std::vector<std::string>>;
const std::vector<std::string> kColumns = {"title", "text", "tags"};

/// A condition on documents, with its text as a query.
struct Asked {
  enum class Kind { word, beginning, phrase, near, all, any, without };

  Kind kind = Kind::word;
  std::vector<std::string> words;
  std::set<std::size_t> columns = {0, 1, 2};
  std::vector<Asked> children;
  std::string text;
};

/// The slow reference: looks at every word of every document.
class SlowSearch {
 public:
  SlowSearch(const std::map<std::string, Columns>& documents, Weighting weighting,
             std::vector<double> weights)
      : documents_(documents), weighting_(weighting), weights_(std::move(weights)) {
    for (const auto& [url, columns] : documents) average_ += length_of(columns);
    average_ /= static_cast<double>(documents.size());
  }

  /// The score of each document that matches.
  std::map<std::string, double> search(const Asked& asked) const {
    std::map<std::string, double> scores;
    for (const auto& [url, columns] : documents_)
      if (matches(columns, asked)) scores[url] = score(columns, asked);
    return scores;
  }

 private:
  static double length_of(const Columns& columns) {
    std::size_t sum = 0;
    for (const auto& words : columns) sum += words.size();
    return static_cast<double>(sum);
  }

  /// How often a word occurs, weighted; below 0 if it does not.
  double frequency(const Columns& columns, const std::string& word, bool is_beginning,
                   const std::set<std::size_t>& wanted) const {
    double sum = -1;
    for (const std::size_t column : wanted)
      for (const std::string& one : columns[column])
        if (is_beginning ? one.starts_with(word) : one == word) sum = std::max(sum, 0.0) + weights_[column];
    return sum;
  }

  static bool has_phrase_at(const std::vector<std::string>& column, std::size_t at,
                            const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i)
      if (at + i >= column.size() || column[at + i] != words[i]) return false;
    return true;
  }

  /// Tries all pairs of a first and a last place.
  static bool is_near(const std::vector<std::string>& column, const std::vector<std::string>& words,
                      std::size_t distance) {
    for (std::size_t first = 0; first < column.size(); ++first)
      for (std::size_t last = first; last < column.size() && last <= first + distance + 1; ++last) {
        const auto begin = column.begin() + static_cast<std::ptrdiff_t>(first);
        const auto end = column.begin() + static_cast<std::ptrdiff_t>(last) + 1;
        if (std::all_of(words.begin(), words.end(),
                        [&](const std::string& word) { return std::find(begin, end, word) != end; }))
          return true;
      }
    return false;
  }

  bool matches(const Columns& columns, const Asked& asked) const {
    using Kind = Asked::Kind;
    const auto child_matches = [&](const Asked& child) { return matches(columns, child); };
    switch (asked.kind) {
      case Kind::word:
      case Kind::beginning:
        return frequency(columns, asked.words[0], asked.kind == Kind::beginning, asked.columns) >= 0;
      case Kind::phrase:
        for (const std::size_t column : asked.columns)
          for (std::size_t at = 0; at < columns[column].size(); ++at)
            if (has_phrase_at(columns[column], at, asked.words)) return true;
        return false;
      case Kind::near:
        return std::any_of(asked.columns.begin(), asked.columns.end(),
                           [&](std::size_t column) { return is_near(columns[column], asked.words, 2); });
      case Kind::all:
        return std::all_of(asked.children.begin(), asked.children.end(), child_matches);
      case Kind::any:
        return std::any_of(asked.children.begin(), asked.children.end(), child_matches);
      case Kind::without:
        break;
    }
    return child_matches(asked.children[0]) && !child_matches(asked.children[1]);
  }

  double score(const Columns& columns, const Asked& asked) const {
    if (!matches(columns, asked)) return 0;
    double sum = 0;
    for (const std::string& word : asked.words)
      sum += share(columns, word, asked.kind == Asked::Kind::beginning, asked.columns);
    for (const Asked& child : asked.children) {
      sum += score(columns, child);
      if (asked.kind == Asked::Kind::without) break;
    }
    return sum;
  }

  /// The number of documents with the word, and its frequency in all of them. A beginning counts as if its
  /// words were independent.
  std::pair<double, double> statistics(const std::string& word, bool is_beginning,
                                       const std::set<std::size_t>& wanted) const {
    const auto [known, is_new] = statistics_.try_emplace({word, is_beginning, wanted});
    if (!is_new) return known->second;
    auto& [with_word, total] = known->second;
    for (const auto& [url, columns] : documents_) {
      const double there = frequency(columns, word, false, wanted);
      with_word += there >= 0 ? 1 : 0;
      total += std::max(0.0, there);
    }
    if (!is_beginning) return known->second;
    std::set<std::string> words;
    for (const auto& [url, columns] : documents_)
      for (const auto& column : columns)
        for (const std::string& one : column)
          if (one.starts_with(word)) words.insert(one);
    const auto all = static_cast<double>(documents_.size());
    double without = 1;
    total = 0;
    for (const std::string& one : words) {
      const auto [with_one, frequency_of_one] = statistics(one, false, wanted);
      without *= 1 - with_one / all;
      total += frequency_of_one;
    }
    with_word = all * (1 - without);
    return known->second;
  }

  double share(const Columns& columns, const std::string& word, bool is_beginning,
               const std::set<std::size_t>& wanted) const {
    const double here = frequency(columns, word, is_beginning, wanted);
    if (here < 0) return 0;
    const auto all = static_cast<double>(documents_.size());
    const auto [with_word, total] = statistics(word, is_beginning, wanted);
    const double relative = length_of(columns) / average_;
    if (weighting_ == Weighting::bm25) {
      const double inverse = std::max(1e-6, std::log((all - with_word + .5) / (with_word + .5)));
      return inverse * here * 2.2 / (here + 1.2 * (.25 + .75 * relative));
    }
    const double normalised = here * std::log2(1 + 1 / relative);
    const double expected = all * (1 - std::pow((all - 1) / all, total));
    return normalised * std::log2((all + 1) / (expected + .5)) * (total + 1) / (with_word * (normalised + 1));
  }

  const std::map<std::string, Columns>& documents_;
  Weighting weighting_;
  std::vector<double> weights_;
  double average_ = 0;
  mutable std::map<std::tuple<std::string, bool, std::set<std::size_t>>, std::pair<double, double>>
      statistics_;
};

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

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string url_of(int number) {
  return "http://" + std::to_string(number) + "/";
}

Columns random_document(WordDice& dice) {
  // only a few different lengths, so that many documents have the same score
  return {split(dice.words(dice.below(4))),
          split(dice.words(1 + 3 * dice.below(dice.below(30) == 0 ? 40 : 4))),
          split(dice.below(3) == 0 ? dice.words(2) : "")};
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string as_lines(const std::map<std::string, Columns>& documents) {
  std::string lines;
  for (const auto& [url, columns] : documents)
    lines += "{\"url\":\"" + url + "\",\"title\":\"" + joined(columns[0]) + "\",\"text\":\"" +
             joined(columns[1]) + "\",\"tags\":\"" + joined(columns[2]) + "\"}\n";
  return lines;
}

Asked random_leaf(WordDice& dice) {
  Asked asked;
  const std::string word = dice.word();
  asked.words = {word};
  asked.text = dice.below(5) == 0 ? '"' + word + '"' : word;
  const std::size_t kind = dice.below(10);
  if (kind == 0) {
    asked.kind = Asked::Kind::beginning;
    asked.text = word + "*";
  } else if (kind <= 2) {
    asked.kind = Asked::Kind::phrase;
    asked.words.push_back(dice.word());
    asked.text = '"' + joined(asked.words) + '"';
  } else if (kind == 3) {
    asked.kind = Asked::Kind::near;
    for (int i = 0; i < 2; ++i)
      if (const std::string other = dice.word();
          std::count(asked.words.begin(), asked.words.end(), other) == 0)
        asked.words.push_back(other);
    if (asked.words.size() == 1) asked.kind = Asked::Kind::word;
    asked.text = "NEAR(" + joined(asked.words) + ", " + std::to_string(4 - asked.words.size()) + ")";
    // the distance is counted between the end of the first and the start of the last of these words
    if (asked.words.size() != 2) asked.kind = Asked::Kind::word, asked.words.resize(1), asked.text = word;
  }
  switch (dice.below(6)) {
    case 0:
      asked.columns = {0};
      asked.text = "title : " + asked.text;
      break;
    case 1:
      asked.columns = {0, 2};
      asked.text = "{title tags} : " + asked.text;
      break;
    case 2:
      asked.columns = {0, 1};
      asked.text = "- tags : " + asked.text;
      break;
    default:
      break;
  }
  return asked;
}

Asked random_query(WordDice& dice, int depth) {
  if (depth == 0 || dice.below(4) == 0) return random_leaf(dice);
  Asked asked;
  const std::array<const char*, 4> between = {" ", " AND ", " OR ", " NOT "};
  const std::size_t kind = dice.below(4);
  asked.kind = kind <= 1 ? Asked::Kind::all : kind == 2 ? Asked::Kind::any : Asked::Kind::without;
  const std::size_t count = kind == 3 ? 2 : 2 + dice.below(3);
  for (std::size_t i = 0; i < count; ++i) {
    asked.children.push_back(random_query(dice, depth - 1));
    asked.text += (i > 0 ? between[kind] : "") + asked.children.back().text;
  }
  asked.text = "(" + asked.text + ")";
  return asked;
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
  test::TemporaryFolder folder;
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

namespace {

/// A condition as text.
std::string form_of(const QueryNode& node) {
  if (node.kind == QueryNode::Kind::text) {
    std::string out = node.columns == 1 ? "1:" : node.columns == 2 ? "2:" : "";
    return out + (node.is_quoted ? "'" + node.text + "'" : node.text) + (node.is_beginning ? "*" : "");
  }
  const char* between = node.kind == QueryNode::Kind::all    ? " & "
                        : node.kind == QueryNode::Kind::any  ? " | "
                        : node.kind == QueryNode::Kind::near ? " ~ "
                                                             : " - ";
  std::string out = "(";
  for (const QueryNode& child : node.children) out += (out == "(" ? "" : between) + form_of(child);
  return out + (node.kind == QueryNode::Kind::near ? ", " + std::to_string(node.distance) : "") + ")";
}

}  // namespace

TEST_CASE("A query is read as FTS5 reads it", "[fetchers][local][ranking]") {
  const std::vector<std::string> columns = {"title", "text"};
  const auto form = [&](const std::string& query) {
    const auto read = read_word_query(query, columns);
    return read ? form_of(*read) : "error: " + read.error().text;
  };
  CHECK(form("a b") == "(a & b)");
  CHECK(form("a OR \"b\"\"c\"") == "(a | 'b\"c')");
  CHECK(form("(a OR b OR c) AND d NOT e NOT f") == "((a | b | c) & (d - e - f))");
  CHECK(form("(a OR b) AND c d NOT (e OR f)") == "((a | b) & ((c & d) - (e | f)))");
  CHECK(form("a b OR c") == "((a & b) | c)");
  CHECK(form("Title:a b AND text : (c OR {title text} : d)") == "(1:a & b & (2:c | 2:d))");
  CHECK(form("- text : a*") == "a*");
  CHECK(form("NEAR(a \"b c\", 3) OR NEAR(a b) OR NEAR(a) OR NEAR") ==
        "((a ~ 'b c', 3) | (a ~ b, 10) | a | NEAR)");
  CHECK(form("a + \"b c\" + d*") == "'a b c d'*");
  for (const char* wrong : {"", "\"a", "a b)", "NOT a", "a AND", "{title : a", "a-b", "(a", "NEAR(a b, x)",
                            "NEAR()", "a NOT", "title :", "^a", "a , b"}) {
    INFO(wrong);
    CHECK(read_word_query(wrong, columns).error().code == Code::bad_data);
  }
  CHECK(form("colour : a") == "error: no such column: \"colour\"; there are title, text");
  CHECK_FALSE(read_word_query(std::string(1000, '(') + "a" + std::string(1000, ')'), columns).has_value());
  CHECK_FALSE(read_word_query(std::string(100'000, 'a'), columns).has_value());
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
  for (const auto& [id, counts] : written) {
    writer.add(id, writer.code_of(counts));
    if (id % 4000 < 2) writer.end_part();
  }
  const PostingBytes bytes = writer.finish();
  CHECK(bytes.documents == written.size());
  CHECK(bytes.parts.size() > 1);
  auto list = PostingList::read(bytes.codes);
  REQUIRE(list.has_value());
  for (const PostingPart& part : bytes.parts) REQUIRE(list->add_part(part.first_window, part.postings));
  CHECK(list->documents_in(kAllColumns) == written.size());
  CHECK(list->documents_in(2) == 0);
  CHECK_FALSE(PostingList(*list).add_part(bytes.parts.back().first_window, bytes.parts[0].postings));
  PostingCursor cursor(*list);
  std::vector<std::pair<std::uint32_t, ColumnCounts>> read;
  std::vector<PostingCursor::Posting> postings;
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
  // A cursor that is advanced finds the window that follows.
  for (int i = 0; i < 200; ++i) {
    PostingCursor skipping(*list);
    for (std::uint32_t wanted = 0; wanted < 20;) {
      REQUIRE(skipping.advance(wanted));
      const auto expected = std::find_if(written.begin(), written.end(), [&](const auto& one) {
        return one.first >= wanted * PostingList::kWindow;
      });
      REQUIRE(skipping.is_at_end() == (expected == written.end()));
      if (!skipping.is_at_end()) CHECK(skipping.window() == expected->first / PostingList::kWindow);
      wanted += static_cast<std::uint32_t>(1 + dice.below(6));
    }
  }
  // Truncated or changed bytes are refused or read as another list, and never read beyond their end.
  for (int i = 0; i < 2000; ++i) {
    const auto damaged = [&](std::string text) {
      if (dice.below(3) == 0) text.resize(dice.below(text.size()));
      if (!text.empty())
        text[dice.below(std::min<std::size_t>(text.size(), 3000))] ^= static_cast<char>(1 + dice.below(255));
      return text;
    };
    auto other = PostingList::read(dice.below(2) == 0 ? damaged(bytes.codes) : bytes.codes);
    if (!other) continue;
    for (const PostingPart& part : bytes.parts)
      static_cast<void>(other->add_part(part.first_window, damaged(part.postings)));
    PostingCursor at(*other);
    for (std::uint32_t window = 0; at.advance(window) && !at.is_at_end(); window = at.window() + 1)
      if (!at.read(postings)) break;
  }
}
