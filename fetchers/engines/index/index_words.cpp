#include "fetchers/engines/index/index_words.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "core/sqlite_database.h"
#include "fetchers/engines/index/local_engine.h"

namespace metafuse::fetchers {
namespace {

Result<bool> has_stems(SqliteDatabase& database) {
  TRY(const auto tables, read_words_tables(database));
  return !tables.empty() && tables.front().tokenizer == "porter";
}

/// Quotes a word as an FTS5 string, in which nothing acts as an operator.
std::string as_string(std::string_view word) {
  std::string out = "\"";
  for (const char c : word) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

Result<void> read_terms(SqliteDatabase& database, const IndexWordsOptions& options, IndexWords& out) {
  TRY_VOID(database.run("CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', 'documents', 'row')"));
  TRY(auto terms,
      database.prepare("SELECT term, doc FROM temp.terms WHERE doc >= ?1 ORDER BY doc DESC LIMIT ?2"));
  terms.bind(options.fewest_documents, options.most_words);
  return terms.for_each_row([&](const SqliteRow& row) {
    out.words.emplace_back(row.text(0), static_cast<std::size_t>(row.integer(1)));
  });
}

}  // namespace

Result<IndexWords> read_index_words(const std::string& path, const IndexWordsOptions& options) {
  TRY(auto database, SqliteDatabase::open(path, {}));
  TRY_VOID(check_index_format(database, path));
  IndexWords out;
  TRY(auto titles, database.prepare("SELECT title FROM pages WHERE title != '' ORDER BY id LIMIT ?1"));
  titles.bind(options.most_titles);
  TRY_VOID(titles.for_each_row([&](const SqliteRow& row) { out.titles.emplace_back(row.text(0)); }));
  TRY(const bool is_stemmed, has_stems(database));
  if (!is_stemmed) TRY_VOID(read_terms(database, options, out));
  return out;
}

IndexCounter::IndexCounter(SqliteDatabase database, SqliteStatement statement)
    : database_(std::move(database)), statement_(std::move(statement)) {}

Result<IndexCounter> IndexCounter::open(const std::string& path) {
  TRY(auto database, SqliteDatabase::open(path, {}));
  TRY_VOID(check_index_format(database, path));
  TRY(auto statement,
      database.prepare("SELECT count(*) FROM (SELECT rowid FROM documents WHERE documents MATCH ?1 "
                       "LIMIT ?2)"));
  return IndexCounter(std::move(database), std::move(statement));
}

std::size_t IndexCounter::documents_with(const std::vector<std::vector<std::string>>& groups,
                                         std::size_t most) {
  std::string query;
  for (const auto& group : groups) {
    query += query.empty() ? "(" : " AND (";
    for (std::size_t i = 0; i < group.size(); ++i) query += (i > 0 ? " OR " : "") + as_string(group[i]);
    query += ')';
  }
  statement_.bind(query, most);
  std::size_t count = 0;
  static_cast<void>(statement_.for_each_row(
      [&](const SqliteRow& row) { count = static_cast<std::size_t>(row.integer(0)); }));
  return count;
}

}  // namespace metafuse::fetchers
