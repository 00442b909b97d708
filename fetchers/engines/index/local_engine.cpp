#include "fetchers/engines/index/local_engine.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/idle_pool.h"
#include "core/number.h"
#include "fetchers/engines/index/word_search.h"

namespace metafuse::fetchers {

Error not_an_index(const std::string& path, const std::string& why) {
  return fail(Code::bad_data, path + ": not a document index (" + why + "); build one with metafuse index");
}

Result<SqliteDatabase> open_index(const std::string& path, std::int64_t mapped_bytes) {
  auto database = SqliteDatabase::open(path, {});
  if (!database)
    return fail(database.error().code, database.error().text + "; build the index with metafuse index");
  TRY_VOID(check_index_format(*database, path));
  TRY_VOID(database->run(fmt::format("PRAGMA mmap_size={}; PRAGMA cache_size=-4096;", mapped_bytes)));
  return database;
}

Result<void> check_index_format(SqliteDatabase& database, const std::string& path) {
  auto meta = database.prepare(
      "SELECT value FROM meta WHERE name='version' AND EXISTS "
      "(SELECT 1 FROM meta WHERE name='format' AND value='metafuse-index')");
  if (!meta) return not_an_index(path, "it has no format entry");
  const auto row = meta->next();
  if (!row || !*row) return not_an_index(path, "it has no format entry");
  const std::string_view version = (*row)->text(0);
  if (version != "1") return not_an_index(path, "version " + std::string(version));
  return {};
}

Result<std::vector<WordsTable>> read_words_tables(SqliteDatabase& database) {
  std::vector<WordsTable> tables;
  TRY(auto rows,
      database.prepare("SELECT name, sql LIKE '%tokenize=''porter%', sql LIKE '%tokenize=''trigram%' FROM "
                       "sqlite_schema WHERE name "
                       "IN ('documents','documents_unicode61','documents_porter','documents_trigram') "
                       "AND sql LIKE 'CREATE VIRTUAL TABLE%' ORDER BY name"));
  TRY_VOID(rows.for_each_row([&](const SqliteRow& row) {
    const char* tokenizer = row.integer(1) != 0 ? "porter" : row.integer(2) != 0 ? "trigram" : "unicode61";
    tables.push_back({std::string(row.text(0)), tokenizer});
  }));
  return tables;
}

bool finds_row(SqliteDatabase& database, std::string_view sql) {
  auto statement = database.prepare(sql);
  if (!statement) return false;
  const auto row = statement->next();
  return row && *row;
}

bool has_shown_facts(SqliteDatabase& database) {
  return finds_row(database, "SELECT 1 FROM pragma_table_info('pages') WHERE name='language'");
}

namespace {

constexpr int kShownColumns = 5;

/// The columns of `pages AS p` that indexed_hit() reads.
std::string shown_columns(SqliteDatabase& database) {
  return std::string("p.url, p.title, p.snippet, ") +
         (has_shown_facts(database) ? "p.published, p.language" : "'', ''");
}

/// The result in a row whose first columns are shown_columns().
Hit indexed_hit(const SqliteRow& row, double score) {
  Hit hit;
  hit.url = row.text(0);
  hit.title = row.text(1);
  hit.snippet = row.text(2);
  hit.published = row.text(3);
  hit.language = row.text(4);
  hit.score = score;
  return hit;
}

}  // namespace

Result<ShownPages> ShownPages::make(SqliteDatabase& database) {
  ShownPages pages;
  TRY(pages.page_,
      database.prepare("SELECT " + shown_columns(database) + " FROM pages AS p WHERE p.id=?", true));
  return pages;
}

Result<bool> ShownPages::append(std::int64_t id, double score, RankedList& list) {
  const std::size_t before = list.hits.size();
  page_.bind(id);
  TRY_VOID(page_.for_each_row([&](const SqliteRow& row) { list.hits.push_back(indexed_hit(row, score)); }));
  return list.hits.size() > before;
}

namespace detail {

/// A connection with both ways to search: posting lists if the index has them, and an FTS5 statement for all
/// other queries.
struct LocalConnection {
  SqliteDatabase database;
  SqliteStatement statement;
  ShownPages pages;
  std::optional<WordSearch> words;
};

}  // namespace detail

namespace {

using Connection = detail::LocalConnection;

/// The full-text table that was built with the tokenizer.
Result<WordsTable> words_table(SqliteDatabase& database, const LocalAccess& access) {
  TRY(const auto tables, read_words_tables(database));
  for (const WordsTable& table : tables)
    if (access.tokenizer.empty() ? table.name == "documents" : table.tokenizer == access.tokenizer)
      return table;
  if (access.tokenizer.empty()) return not_an_index(access.database, "no documents");
  return fail(Code::bad_config, access.database + ": the index was not built with the tokenizer " +
                                    access.tokenizer + "; build it with metafuse index --tokenizer " +
                                    access.tokenizer);
}

/// The columns of an index with their weights, in the index's order.
struct WeightedColumns {
  std::vector<std::string> names;
  std::vector<double> weights;
};

Result<WeightedColumns> weighted_columns(SqliteDatabase& database, const LocalAccess& access) {
  auto columns = database.prepare("SELECT name FROM pragma_table_info('documents')");
  if (!columns) return not_an_index(access.database, "no documents");
  WeightedColumns out;
  auto& names = out.names;
  TRY_VOID(columns->for_each_row([&](const SqliteRow& row) {
    names.emplace_back(row.text(0));
    out.weights.push_back(1);
    for (const auto& [name, value] : access.weights)
      if (name == names.back()) out.weights.back() = value;
  }));
  for (const auto& [name, value] : access.weights)
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::string known;
      for (const std::string& column : names) known += (known.empty() ? "" : ", ") + column;
      return fail(Code::bad_config, access.database + ": there is a weight for \"" + name +
                                        "\", but the index has the columns " + known);
    }
  return out;
}

/// FTS5's ranking function with column weights, such as "bm25(10.0, 1.0)".
std::string rank_function(const std::vector<double>& weights) {
  std::string out = "bm25(";
  for (const double weight : weights) {
    out += out.back() == '(' ? "" : ", ";
    append_number(out, weight);
  }
  return out + ')';
}

/// The SQL of a search, ordered by relevance or by one of the documents' numbers.
Result<std::string> search_statement(SqliteDatabase& database, const LocalAccess& access,
                                     const std::string& table, const std::string& rank) {
  const std::string shown = shown_columns(database);
  const std::string matches = "(SELECT rowid AS id, rank AS score FROM " + table + " WHERE " + table +
                              " MATCH ?1 AND rank MATCH '" + rank + "'";
  if (access.order_by.empty())
    return "SELECT " + shown + ", -d.score FROM " + matches +
           " ORDER BY rank, rowid LIMIT ?2 OFFSET ?3) AS d JOIN pages AS p ON p.id = d.id "
           "ORDER BY d.score, d.id";
  TRY(auto known,
      database.prepare("SELECT 1 FROM pragma_table_info('numbers') WHERE name = ?1 AND name <> 'id'"));
  known.bind(access.order_by);
  TRY(const auto is_known, known.next());
  if (!is_known)
    return fail(Code::bad_config, access.database + ": order_by is \"" + access.order_by +
                                      "\", but the documents have no numeric field with that name");
  const std::string number = "n.\"" + access.order_by + '"';
  return "SELECT " + shown + ", " + number + " FROM " + matches +
         ") AS d JOIN numbers AS n ON n.id = d.id JOIN pages AS p ON p.id = d.id WHERE " + number +
         " IS NOT NULL ORDER BY " + number + " DESC, d.score, d.id LIMIT ?2 OFFSET ?3";
}

Result<Connection> connect(const LocalAccess& access, SharedLengths& lengths) {
  TRY(auto database, open_index(access.database));
  TRY(auto columns, weighted_columns(database, access));
  TRY(const auto table, words_table(database, access));
  TRY(const auto sql, search_statement(database, access, table.name, rank_function(columns.weights)));
  TRY(auto statement, database.prepare(sql));
  TRY(auto pages, ShownPages::make(database));
  std::optional<WordSearch> words;
  if (access.order_by.empty()) {
    TRY(words, WordSearch::open(
                   database, {access.database, table, std::move(columns.names), std::move(columns.weights)},
                   lengths));
  }
  return Connection{std::move(database), std::move(statement), std::move(pages), std::move(words)};
}

Result<RankedList> search_with(Connection& connection, std::string_view query, std::size_t depth,
                               std::size_t offset, const Deadline& deadline) {
  RankedList list;
  if (connection.words) {
    TRY(const auto found, connection.words->find(query, offset + depth, deadline));
    for (std::size_t i = offset; found && i < found->size(); ++i)
      TRY_VOID(connection.pages.append((*found)[i].id, (*found)[i].score, list));
    if (found) return list;
  }
  connection.statement.bind(query, depth, offset);
  TRY_VOID(connection.statement.for_each_row(
      [&](const SqliteRow& row) { list.hits.push_back(indexed_hit(row, row.number(kShownColumns))); }));
  return list;
}

}  // namespace

struct LocalEngine::Shared {
  LocalAccess access;
  IdlePool<std::unique_ptr<detail::LocalConnection>> pool;
  SharedLengths lengths;
};

LocalEngine::LocalEngine(LocalAccess access) : shared_(std::make_unique<Shared>()) {
  shared_->access = std::move(access);
}

LocalEngine::~LocalEngine() = default;

Result<RankedList> LocalEngine::search(std::string_view query, int depth, int offset,
                                       const Deadline& deadline) {
  if (query.find_first_not_of(" \t\r\n") == std::string_view::npos) return RankedList{};
  auto connection = shared_->pool.take();
  if (connection == nullptr) {
    TRY(auto opened, connect(shared_->access, shared_->lengths));
    connection = std::make_unique<Connection>(std::move(opened));
  }
  connection->database.set_deadline(&deadline);
  auto list = search_with(*connection, query, static_cast<std::size_t>(depth),
                          static_cast<std::size_t>(offset), deadline);
  connection->database.set_deadline(nullptr);
  // after a failed search the connection's statements may be in the middle of a row
  if (list) shared_->pool.give_back(std::move(connection));
  if (!list && list.error().code == Code::bad_data)
    return fail(Code::bad_data, "the index does not understand the query: " + list.error().text);
  return list;
}

}  // namespace metafuse::fetchers
