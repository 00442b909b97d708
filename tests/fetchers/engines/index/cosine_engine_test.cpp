#include "fetchers/engines/index/cosine_engine.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "core/sqlite_database.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/engines/index/cosine_index.h"
#include "fetchers/engines/index/local_engine.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

Deadline in_five_seconds() {
  return {machine_clock(), std::chrono::seconds(5)};
}

/// Words with their known Porter stems.
const std::map<std::string, std::string> kStemOf = {
    {"editor", "editor"}, {"editors", "editor"}, {"edit", "edit"},     {"editing", "edit"},
    {"image", "imag"},    {"images", "imag"},    {"reader", "reader"}, {"web", "web"},
    {"old", "old"},       {"mail", "mail"},      {"mails", "mail"}};

std::string document_line(std::size_t number, const std::string& title, const std::string& text,
                          const std::string& section = "net") {
  return "{\"url\":\"http://" + std::to_string(number) + "/\",\"title\":\"" + title + "\",\"text\":\"" +
         text + "\",\"section\":\"" + section + "\"}\n";
}

struct CosineIndex {
  test::TemporaryFolder folder;
  std::string database = folder.path("pages.db");

  explicit CosineIndex(const std::string& documents, IndexOptions options = {}) {
    options.has_cosine = true;
    options.language = "en";
    write(documents, options);
  }

  void write(const std::string& documents, const IndexOptions& options) {
    const auto built = build_local_index(database, {folder.write("d.jsonl", documents)}, options);
    if (!built) FAIL(built.error().text);
  }

  std::vector<std::string> find(const std::string& query, int depth = 30, int offset = 0) const {
    const auto list = CosineEngine({database}).search(query, depth, offset, in_five_seconds());
    if (!list) FAIL(list.error().text);
    std::vector<std::string> urls;
    for (const Hit& hit : list->hits) urls.push_back(hit.url);
    return urls;
  }
};

using FoundUrls = std::vector<std::string>;

/// The parts of a text with their counts per kind, by the definition and without an index.
std::vector<std::map<std::string, int>> slow_parts(const std::vector<std::string>& words) {
  std::vector<std::map<std::string, int>> parts(3);
  for (const std::string& word : words) {
    ++parts[0][word];
    ++parts[1][kStemOf.at(word)];
    const std::string padded = " " + word + " ";
    for (std::size_t i = 0; i == 0 || i + 4 <= padded.size(); ++i) ++parts[2][padded.substr(i, 4)];
  }
  return parts;
}

double slow_cosine(const std::map<std::string, int>& query, const std::map<std::string, int>& document,
                   const std::vector<std::map<std::string, int>>& all) {
  const auto weight = [&](const std::string& part, int count) {
    double with = 0;
    for (const auto& one : all) with += one.contains(part) ? 1 : 0;
    return with == 0 ? 0 : (1 + std::log(count)) * std::log(1 + static_cast<double>(all.size()) / with);
  };
  double product = 0, of_query = 0, of_document = 0;
  for (const auto& [part, count] : query) {
    const double here = weight(part, count);
    of_query += here * here;
    if (document.contains(part)) product += here * weight(part, document.at(part));
  }
  for (const auto& [part, count] : document) of_document += weight(part, count) * weight(part, count);
  return product == 0 ? 0 : product / std::sqrt(of_query * of_document);
}

}  // namespace

TEST_CASE("A query of the cosine engine has words followed by conditions", "[fetchers][cosine]") {
  CHECK(read_cosine_query("photo editors") == CosineQuery{"photo editors", "", {}});
  CHECK(read_cosine_query("photo AND sections : graphics") ==
        CosineQuery{"photo", " sections : graphics", {}});
  CHECK(read_cosine_query("(a OR b) AND {x y} : (c AND d) AND tags : e") ==
        CosineQuery{"a b", " {x y} : (c AND d)  AND  tags : e", {}});
  CHECK(read_cosine_query("a AND b NOT \"c d\" NOT e") == CosineQuery{"a b", "", {" \"c d\" ", " e"}});
  // quoted text is words
  CHECK(read_cosine_query("a \"AND\" \"x :\" b*") == CosineQuery{"a \"AND\" \"x :\" b", "", {}});
  CHECK(read_cosine_query("\"open") == CosineQuery{"\"open", "", {}});
  CHECK(read_cosine_query("").words.empty());
  CHECK(read_cosine_query("NOT x") == CosineQuery{"", "", {" x"}});
}

TEST_CASE("The cosine engine ranks as its definition does", "[fetchers][cosine]") {
  Random random(3);
  std::vector<std::string> known;
  for (const auto& [word, stem] : kStemOf) known.push_back(word);
  std::vector<std::vector<std::string>> texts;
  std::string lines;
  for (std::size_t i = 1; i <= 40; ++i) {
    auto& words = texts.emplace_back();
    std::string text;
    for (std::uint64_t n = 1 + random.below(6); n > 0; --n) {
      words.push_back(known[random.below(known.size())]);
      if (n > 1) text += words.back() + ' ';
    }
    lines += document_line(i, words.back(), text);  // title and text have equal weight
  }
  std::vector<std::vector<std::map<std::string, int>>> by_kind(3);
  for (const auto& words : texts) {
    const auto parts = slow_parts(words);
    for (std::size_t kind = 0; kind < 3; ++kind) by_kind[kind].push_back(parts[kind]);
  }
  const CosineIndex index(lines);
  CosineEngine engine({index.database});
  for (const std::vector<std::string>& query : std::vector<std::vector<std::string>>{
           {"editor"}, {"editing", "images"}, {"mail", "mail", "old"}, {"web"}}) {
    std::string text;
    for (const std::string& word : query) text += word + ' ';
    const auto list = engine.search(text, 100, 0, in_five_seconds());
    REQUIRE(list.has_value());
    const auto asked = slow_parts(query);
    std::map<std::string, double> expected;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      double score = 0;
      for (std::size_t kind = 0; kind < 3; ++kind)
        score += slow_cosine(asked[kind], by_kind[kind][i], by_kind[kind]) / 3;
      if (score > 0) expected["http://" + std::to_string(i + 1) + "/"] = score;
    }
    REQUIRE(list->hits.size() == expected.size());
    double last = 2;
    for (const Hit& hit : list->hits) {
      CHECK(*hit.score == Approx(expected.at(hit.url)).epsilon(1e-5));
      CHECK(*hit.score <= last);
      last = *hit.score;
    }
  }
}

TEST_CASE("The cosine engine finds other endings and parts of words and typing errors",
          "[fetchers][cosine]") {
  const CosineIndex index(document_line(1, "kolour", "paints images", "graphics") +
                          document_line(2, "lens", "image editor for photographs", "graphics") +
                          document_line(3, "post", "reads mail", "mail"));
  CHECK(index.find("photograph editing").front() == "http://2/");
  CHECK(index.find("photografs").front() == "http://2/");
  CHECK(index.find("painting").front() == "http://1/");
  CHECK(index.find("image AND section : mail").empty());
  CHECK(index.find("image NOT editor") == FoundUrls{"http://1/"});
  CHECK(index.find("image NOT editor NOT paints").empty());
  CHECK(index.find("xyzzy").empty());
  CHECK(index.find("  ").empty());
  CHECK(index.find("image", 1, 1).size() == 1);
  CHECK(index.find("image", 30, 2).empty());
  const auto bad = CosineEngine({index.database}).search("image AND wat : x", 9, 0, in_five_seconds());
  CHECK(bad.error().code == Code::bad_data);
  CHECK(bad.error().text.find("no such column: \"wat\"") != std::string::npos);
  // of a hundred thousand words only the first ones are used
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "w" + std::to_string(i) + ' ';
  CHECK(index.find(many).size() <= 3);
}

TEST_CASE("An index without the cosine's tables gives an error that says how to build them",
          "[fetchers][cosine]") {
  const test::TemporaryFolder folder;
  const std::string database = folder.path("x.db");
  REQUIRE(build_local_index(database, {folder.write("d.jsonl", document_line(1, "one", "two"))}).has_value());
  const auto refused = CosineEngine({database}).search("two", 9, 0, in_five_seconds());
  CHECK(refused.error().code == Code::bad_config);
  CHECK(refused.error().text.find("metafuse index --cosine") != std::string::npos);
  CHECK(CosineEngine({folder.path("no.db")}).search("two", 9, 0, in_five_seconds()).error().code ==
        Code::no_input);
}

TEST_CASE("A damaged index is an error of the cosine engine", "[fetchers][cosine]") {
  for (const char* damage : {"UPDATE list_parts SET postings=x'ffffffffffffff'",
                             "UPDATE cosine_lengths SET lengths=x'00'", "UPDATE cosine_lengths SET first=7",
                             "DELETE FROM cosine_lengths", "DELETE FROM meta WHERE name='lists'",
                             "UPDATE cosine_lengths SET lengths=x'0000c07f0000c07f0000c07f'"}) {
    INFO(damage);
    const CosineIndex index(document_line(1, "one", "two") + document_line(2, "three", "two"));
    {
      auto database = SqliteDatabase::open(index.database, {.mode = SqliteMode::read_write});
      REQUIRE(database.has_value());
      REQUIRE(database->run(damage).has_value());
    }
    const auto list = CosineEngine({index.database}).search("two", 9, 0, in_five_seconds());
    CHECK((list.has_error() && list.error().code == Code::bad_data));
  }
}

TEST_CASE("An index can be searched by each kind of list that it was built with", "[fetchers][local]") {
  IndexOptions options;
  options.kinds = {WordKind::words, WordKind::stems, WordKind::parts};
  const CosineIndex index(document_line(1, "one", "texteditor of images") +
                              document_line(2, "porter", "searches an image") +
                              document_line(3, "x", "search"),
                          options);
  const auto find = [&](const std::string& tokenizer, const std::string& query) {
    const auto list =
        LocalEngine({index.database, {}, "", tokenizer}).search(query, 30, 0, in_five_seconds());
    if (!list) FAIL(list.error().text);
    std::set<std::string> urls;
    for (const Hit& hit : list->hits) urls.insert(hit.url);
    return urls;
  };
  using Set = std::set<std::string>;
  for (const char* words : {"", "words", "unicode61"}) {
    CHECK(find(words, "search") == Set{"http://3/"});
    CHECK(find(words, "editor").empty());
    CHECK(find(words, "sear*") == Set{"http://2/", "http://3/"});
  }
  CHECK(find("stems", "text : searching") == Set{"http://2/", "http://3/"});
  CHECK(find("stems", "searching*") == Set{"http://2/", "http://3/"});
  CHECK(find("stems", "image") == Set{"http://1/", "http://2/"});
  CHECK(find("parts", "editor") == Set{"http://1/"});
  CHECK(find("parts", "ages OR earc") == Set{"http://1/", "http://2/", "http://3/"});
  // in a condition, all parts of a word are required
  CHECK(find("parts", "section : net AND title : porter") == Set{"http://2/"});
  CHECK(find("parts", "section : net AND title : ported").empty());

  const test::TemporaryFolder folder;
  const std::string database = folder.path("x.db");
  REQUIRE(
      build_local_index(database, {folder.write("d.jsonl", document_line(1, "a", "searches"))}).has_value());
  const auto missing = LocalEngine({database, {}, "", "parts"}).search("search", 9, 0, in_five_seconds());
  CHECK(missing.error().code == Code::bad_config);
  CHECK(missing.error().text.find("--tokenizer parts") != std::string::npos);
}

TEST_CASE("An update gives the same lists and cosines as a new index", "[fetchers][cosine]") {
  IndexOptions options;
  options.updates = true;
  options.has_cosine = true;
  options.language = "en";
  const std::string before = document_line(1, "one", "texteditor") + document_line(2, "two", "image reader");
  const std::string after =
      document_line(2, "two", "images of readers") + document_line(3, "three", "editor");
  CosineIndex changed(before, options);
  changed.write(after, options);
  const CosineIndex anew(after, options);
  const auto found = [](const std::string& path, const std::string& tokenizer) {
    return LocalEngine({path, {}, "", tokenizer})
        .search("edit* OR read", 9, 0, in_five_seconds())
        ->hits.size();
  };
  CHECK(changed.find("reader editing") == anew.find("reader editing"));
  CHECK(changed.find("texteditor") == anew.find("texteditor"));
  for (const char* tokenizer : {"words", "stems", "parts"})
    CHECK(found(changed.database, tokenizer) == found(anew.database, tokenizer));
  // with other lists the index is rebuilt, and without has_cosine it has no cosines
  options.has_cosine = false;
  const auto built = build_local_index(changed.database, {changed.folder.write("d.jsonl", after)}, options);
  REQUIRE(built.has_value());
  CHECK_FALSE(built->is_update);
  CHECK(CosineEngine({changed.database}).search("editor", 9, 0, in_five_seconds()).has_error());
}

TEST_CASE("Engine files select the weighting and the expansion of queries", "[fetchers][definition]") {
  const auto local = [](const std::string& keys) {
    return parse_engine_file("engines:\n  - {name: b, engine: local, database: x.db" + keys + "}\n",
                             "e.yaml");
  };
  const auto access = [&](const std::string& keys) {
    const auto file = local(keys);
    if (!file) FAIL(file.error().text);
    return std::get<LocalAccess>(file->engines[0].access);
  };
  CHECK(access("").weighting == Weighting::bm25);
  CHECK_FALSE(access("").expansion.has_value());
  CHECK(access(", weighting: ineb2").weighting == Weighting::ineb2);
  CHECK(access(", expand: {}").expansion == Expansion{});
  CHECK(access(", expand: {documents: 5, terms: 30, weight: .5}").expansion == Expansion{5, 30, .5});
  for (const auto& [keys, message] : std::map<std::string, std::string>{
           {", weighting: tfidf", "weighting must be bm25 or ineb2"},
           {", expand: {documents: 0}", "documents must be a whole number from 1 to 100"},
           {", expand: {terms: 1.5}", "terms must be a whole number from 1 to 100"},
           {", expand: {weight: 0}", "weight must be a number above 0"},
           {", expand: {words: 3}", "expand has no key \"words\""}}) {
    INFO(keys);
    const auto bad = local(keys);
    REQUIRE(bad.has_error());
    CHECK(bad.error().text.find(message) != std::string::npos);
  }
}

TEST_CASE("Engine files select the cosine engine and tokenizers", "[fetchers][definition]") {
  const auto file = parse_engine_file(
      "engines:\n  - {name: a, engine: local_cosine, database: x.db}\n"
      "  - {name: b, engine: local, database: x.db, tokenizer: trigram, order_by: uses}\n",
      "e.yaml");
  REQUIRE(file.has_value());
  CHECK(std::get<CosineAccess>(file->engines[0].access).database == "x.db");
  CHECK(file->engines[0].query_syntax->name == "fts5");
  CHECK(std::get<LocalAccess>(file->engines[1].access).tokenizer == "trigram");
  const auto bad = parse_engine_file(
      "engines:\n  - {name: b, engine: local, database: x.db, tokenizer: snowball}\n", "e.yaml");
  REQUIRE(bad.has_error());
  CHECK(bad.error().text.find("tokenizer must be words, stems or parts") != std::string::npos);
  CHECK(parse_engine_file("engines:\n  - {name: b, engine: local_cosine}\n", "e.yaml").has_error());
}
