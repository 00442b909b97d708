#include <algorithm>
#include <array>
#include <set>

#include <catch2/catch.hpp>
#include <sqlite3.h>

#include "core/query_syntax.h"
#include "core/random.h"
#include "fetchers/engines/index/cosine_engine.h"
#include "templates/expander.h"
#include "templates/template_file.h"
#include "tests/support/hostile_values.h"

using namespace metafuse;

namespace {

struct Document {
  std::string_view title, text, sections, tags, words;
};

/// Every word of a hostile value that a broken query might reach is in some document, most of them private.
constexpr std::array<Document, 8> kDocuments = {{
    {"joe", "joe writes programs", "public", "role::program", "joe example"},
    {"secret", "secret or private things", "private", "role::program", "secret example"},
    {"joe secret", "joe and the secret", "private", "role::data", "secret"},
    {"near", "near or far and not here", "public", "role::library", "near"},
    {"title", "text title documents drop table", "private", "role::library", "title"},
    {"query", "query func secret script alert", "private", "role::plugin", "query"},
    {"numbers", "1 2 10 22 0", "public", "role::data", "10"},
    {"joes", "joes jo job", "public", "role::data", "jo"},
}};

/// A real FTS5 table of the documents.
class Table {
 public:
  Table() {
    REQUIRE(sqlite3_open(":memory:", &database_) == SQLITE_OK);
    run("CREATE VIRTUAL TABLE documents USING fts5(title, text, sections, tags, words, names, whole)");
    for (const Document& d : kDocuments) {
      std::string sql = "INSERT INTO documents(title, text, sections, tags, words) VALUES (";
      for (const std::string_view field : {d.title, d.text, d.sections, d.tags, d.words})
        sql += (sql.ends_with("VALUES (") ? "'" : ",'") + std::string(field) + "'";
      run(sql + ")");
    }
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() { sqlite3_close(database_); }

  /// Positions of the documents that match; an error of SQLite fails the test.
  std::set<std::size_t> match(const std::string& query) {
    sqlite3_stmt* statement = nullptr;
    const char* sql = "SELECT rowid FROM documents WHERE documents MATCH ?";
    REQUIRE(sqlite3_prepare_v2(database_, sql, -1, &statement, nullptr) == SQLITE_OK);
    sqlite3_bind_text(statement, 1, query.data(), static_cast<int>(query.size()), SQLITE_TRANSIENT);
    std::set<std::size_t> found;
    int state = SQLITE_ROW;
    while ((state = sqlite3_step(statement)) == SQLITE_ROW)
      found.insert(static_cast<std::size_t>(sqlite3_column_int64(statement, 0)) - 1);
    INFO(query << ": " << sqlite3_errmsg(database_));
    CHECK(state == SQLITE_DONE);
    sqlite3_finalize(statement);
    return found;
  }

 private:
  void run(const std::string& sql) {
    REQUIRE(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  sqlite3* database_ = nullptr;
};

std::string expanded_fts5(std::string_view query, std::string_view value) {
  templates::Domain domain;
  domain.name = "test";
  domain.slots = {{"A", true, ""}};
  domain.templates = {{"t", {"e"}, std::string(query)}};
  const auto syntax_of = [](std::string_view) -> const QuerySyntax& { return *find_query_syntax("fts5"); };
  const auto queries = templates::expand(domain, {{{"A", std::string(value)}}}, syntax_of);
  return queries.has_value() ? queries->front().text : std::string();
}

/// The words of ASCII text as split by SQLite's unicode61 tokenizer.
std::set<std::string> tokens_of(std::string_view text) {
  std::set<std::string> tokens;
  std::string token;
  for (const char c : std::string(text) + ' ') {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) {
      token += static_cast<char>(std::tolower(byte));
    } else if (!token.empty()) {
      tokens.insert(token);
      token.clear();
    }
  }
  return tokens;
}

std::set<std::string> tokens_of(const Document& d) {
  std::string text;
  for (const std::string_view field : {d.title, d.text, d.sections, d.tags, d.words})
    text += std::string(field) + ' ';
  return tokens_of(text);
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Checks that no query of the value matches more documents than the bag of its words does by definition.
void check_bag(Table& table, std::string_view value) {
  const std::set<std::string> words = tokens_of(value);
  if (words.empty()) return;
  std::set<std::size_t> with_all, with_any;
  for (std::size_t i = 0; i < kDocuments.size(); ++i) {
    const std::set<std::string> held = tokens_of(kDocuments[i]);
    const auto is_held = [&](const std::string& word) { return held.count(word) > 0; };
    if (std::all_of(words.begin(), words.end(), is_held)) with_all.insert(i);
    if (std::any_of(words.begin(), words.end(), is_held)) with_any.insert(i);
  }
  const auto is_within = [](const std::set<std::size_t>& inner, const std::set<std::size_t>& outer) {
    return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
  };
  INFO("value " << value);
  CHECK(is_within(table.match(expanded_fts5("{A}", value)), with_all));
  CHECK(is_within(table.match(expanded_fts5("{A|all}", value)), with_all));
  CHECK(is_within(table.match(expanded_fts5("\"{A}\"", value)), with_all));
  CHECK(is_within(table.match(expanded_fts5("{A|phrase}", value)), with_all));
  CHECK(is_within(table.match(expanded_fts5("{A|any}", value)), with_any));
}

constexpr std::string_view kPublicOnly[] = {
    "sections : public AND {A|all}",
    "sections : public AND {A|any}",
    "{A|any} AND sections : public",
    "text : {A|any} AND sections : public",
    "{{title words}} : {A|any} AND sections : public",
    "({A|first}* OR {A|last}*) AND sections : public",
    "NEAR({A}, 3) AND sections : public",
    "\"{A}\" AND sections : public",
    "{A|phrase} AND sections : public",
    "{A|initials|lower} AND sections : public",
};

void check_stays_public(Table& table, std::string_view value) {
  for (const std::string_view query : kPublicOnly) {
    const std::string text = expanded_fts5(query, value);
    if (text.empty()) continue;
    for (const std::size_t document : table.match(text)) {
      INFO(text);
      CHECK(kDocuments[document].sections == "public");
    }
  }
}

}  // namespace

TEST_CASE("No hostile value fails in SQLite or matches more than its words", "[templates][hostile][fts5]") {
  Table table;
  for (const std::string_view value : test::kHostileValues) {
    if (is_ascii(value)) check_bag(table, value);
    check_stays_public(table, value);
    check_stays_public(table, "joe " + std::string(value));
  }
}

TEST_CASE("No random value fails in SQLite or matches more than its words", "[templates][hostile][fts5]") {
  constexpr std::string_view kAlphabet = "jo1 \"'()[]{}<>+-*/\\|&!?:;,.^~=@#$%_\n\x1A\x7F";
  constexpr std::string_view kWords[] = {" OR ", " AND ", " NOT ", " NEAR(", " secret ", " joe ", " title:"};
  Table table;
  Random random(11);
  for (int round = 0; round < 400; ++round) {
    std::string value;
    for (std::uint64_t i = random.below(20); i > 0; --i) {
      value += kAlphabet[random.below(kAlphabet.size())];
      if (random.below(4) == 0) value += kWords[random.below(std::size(kWords))];
    }
    check_bag(table, value);
    check_stays_public(table, value);
  }
}

TEST_CASE("No typed query fails in SQLite or matches more than its template",
          "[templates][typed][hostile][fts5]") {
  constexpr std::string_view kParts[] = {
      "joe",    " secret", " OR ",      " | ",   " -",      "\"", " \"joe secret\"",
      " site:", "x.org",   " intitle:", " near", " title:", "*",  " before:2024",
      "+",      " (",      ")"};
  templates::Domain domain;
  domain.name = "test";
  domain.slots = {{"A", true, ""}};
  for (const std::string_view query : kPublicOnly)
    domain.templates.push_back({std::string(query), {"e"}, std::string(query)});
  const auto syntax_of = [](std::string_view) -> const QuerySyntax& { return *find_query_syntax("fts5"); };
  Table table;
  Random random(31);
  for (int round = 0; round < 400; ++round) {
    std::string text = "jo ";
    for (std::uint64_t i = random.below(12); i > 0; --i) text += kParts[random.below(std::size(kParts))];
    const auto asked = templates::plain_base_query(domain, text);
    REQUIRE(asked.has_value());
    for (const ExpandedQuery& query : *templates::expand_asked(domain, *asked, syntax_of)) {
      INFO(text << " | " << query.text);
      for (const std::size_t document : table.match(query.text))
        CHECK(kDocuments[document].sections == "public");
    }
  }
}

TEST_CASE("The free-software templates are valid FTS5 with every hostile value",
          "[templates][hostile][fts5]") {
  const auto file = templates::read_domain_file(METAFUSE_SOURCE_DIR "/config/templates/free-software.yaml");
  REQUIRE(file.has_value());
  const auto syntax_of = [](std::string_view) -> const QuerySyntax& { return *find_query_syntax("fts5"); };
  Table table;
  std::size_t checked = 0;
  for (const std::string_view value : test::kHostileValues)
    for (const std::string_view other : {std::string_view{}, value}) {
      const BaseQuery query{{{"TOPIC", "joe " + std::string(value)},
                             {"SECTION", std::string(other)},
                             {"KIND", std::string(other)}}};
      const auto queries = templates::expand(file->domain, query, syntax_of);
      REQUIRE(queries.has_value());
      for (const ExpandedQuery& expanded_query : *queries) {
        table.match(expanded_query.text);
        ++checked;
      }
    }
  CHECK(checked == 2 * test::kHostileValues.size() * file->domain.templates.size());
}

TEST_CASE("No value adds or removes a condition of the cosine engine", "[templates][hostile][fts5]") {
  for (const std::string_view value : test::kHostileValues) {
    const std::string query = expanded_fts5("{A} AND sections : public NOT tags : hidden", value);
    if (query.empty()) continue;
    INFO(query);
    const auto read = fetchers::read_cosine_query(query);
    if (read.words.empty()) continue;  // a value without words
    CHECK(read.required == " sections : public ");
    CHECK(read.excluded == std::vector<std::string>{" tags : hidden"});
    const auto alone = fetchers::read_cosine_query(expanded_fts5("{A}", value));
    CHECK(alone.required.empty());
    CHECK(alone.excluded.empty());
  }
}

TEST_CASE("A value of a thousand words is accepted by SQLite", "[templates][hostile][fts5]") {
  Table table;
  std::string value;
  for (int i = 0; i < 1000; ++i) value += "w" + std::to_string(i % 10) + ' ';
  for (const std::string_view query : {"{A}", "{A|all}", "{A|any}", "{A|phrase}"})
    table.match(expanded_fts5(query, value));
}
