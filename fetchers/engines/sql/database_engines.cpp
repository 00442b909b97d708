// Engines that are SQL databases. Their statement is written in the definition, or built from a
// table's columns.

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"
#include "fetchers/engines/sql/database.h"
#include "fetchers/engines/sql/sql_readers.h"

namespace metafuse::fetchers {
namespace {

using Server = DatabaseAccess::Server;

/// Quotes the name of a table or column for PostgreSQL or MariaDB. A dot separates schema and table.
std::string quoted_name(Server server, std::string_view name) {
  const char quote = server == Server::mariadb ? '`' : '"';
  std::string out(1, quote);
  for (const char c : name) {
    if (c == '.')
      out += std::string{quote, '.', quote};
    else
      out += c == quote ? std::string(2, quote) : std::string(1, c);
  }
  return out + quote;
}

/// The columns of a table that form a result.
struct TableColumns {
  std::string url, title, content;
};

TableColumns take_columns(EngineBlock& block, Server server) {
  std::string url = "url", title = "title", content = "content";
  if (const YamlNode* node = block.map.take("columns")) {
    EngineBlock columns = block.inner(*node, "columns");
    columns.take("url", url);
    columns.take("title", title);
    columns.take("content", content);
    columns.map.finish();
  }
  return {quoted_name(server, url), quoted_name(server, title), quoted_name(server, content)};
}

std::string selected(const TableColumns& columns) {
  return fmt::format("SELECT {} AS url, {} AS title, {} AS content", columns.url, columns.title,
                     columns.content);
}

constexpr std::string_view kWindow = " LIMIT :limit OFFSET :offset";

/// A word that is inserted into a statement unquoted: the name of a text search configuration.
std::string take_word(EngineBlock& block, std::string_view key, const std::string& preset) {
  const std::string word = block.text(key, preset);
  const bool is_word = is_made_of(word, kSmallLettersAndDigits, "_");
  if (!is_word) block.error_at(key, std::string(key) + " may contain only a-z, 0-9 and _");
  return is_word ? word : preset;
}

std::string postgresql_statement(EngineBlock& block, const std::string& table, const std::string& how) {
  const TableColumns columns = take_columns(block, Server::postgresql);
  const std::string shown = selected(columns);
  const std::string text =
      fmt::format("coalesce({}, '') || ' ' || coalesce({}, '')", columns.title, columns.content);
  if (how == "trigram")
    return fmt::format(
        "{0}, word_similarity(:query, {1}) AS score FROM {2} WHERE :query <% ({1}) ORDER BY score DESC, 1{3}",
        shown, text, table, kWindow);
  if (how == "vector") {
    const std::string field = quoted_name(Server::postgresql, block.text("vector_field", "embedding"));
    return fmt::format("{0}, 1 - ({1} <=> {3}) AS score FROM {2} ORDER BY {1} <=> {3}{4}", shown, field,
                       table, "CAST(:vector AS vector)", kWindow);
  }
  const std::string language = take_word(block, "language", "simple");
  const auto column = block.map.take_string("tsvector");
  const std::string words = column ? quoted_name(Server::postgresql, *column)
                                   : fmt::format("to_tsvector('{}', {})", language, text);
  return fmt::format(
      "{0}, ts_rank_cd({1}, asked) AS score FROM {2}, websearch_to_tsquery('{3}', :query) AS asked "
      "WHERE {1} @@ asked ORDER BY score DESC, 1{4}",
      shown, words, table, language, kWindow);
}

/// Requires a FULLTEXT index over both columns.
std::string mariadb_statement(EngineBlock& block, const std::string& table, const std::string& how) {
  const TableColumns columns = take_columns(block, Server::mariadb);
  const std::string match = fmt::format("MATCH({}, {}) AGAINST (:query IN {} MODE)", columns.title,
                                        columns.content, how == "boolean" ? "BOOLEAN" : "NATURAL LANGUAGE");
  return fmt::format("{0}, {1} AS score FROM {2} WHERE {1} ORDER BY score DESC, 1{3}", selected(columns),
                     match, table, kWindow);
}

/// Replaces SearXNG's `%(search_term)s`, with or without quotes around it, by the query parameter.
std::string with_named_query(std::string statement) {
  for (const std::string_view form : {"'%(search_term)s'", "%(search_term)s"})
    for (std::size_t at = statement.find(form); at != std::string::npos; at = statement.find(form))
      statement.replace(at, form.size(), ":query");
  return statement;
}

using Marks = SqlStatementText::Marks;

void check_statement(EngineBlock& block, const YamlNode& node, const std::string& statement, Marks with,
                     bool has_vectors) {
  const std::size_t first = std::min(statement.find_first_not_of(" \t\r\n("), statement.size());
  const std::string begin = ascii_lower(statement.substr(first, 6));
  if (!begin.starts_with("select") && !begin.starts_with("with"))
    block.diagnostics.error(node.place, "query_str must be a SELECT");
  const auto marks = with_marks(statement, with);
  if (!marks) return block.diagnostics.error(node.place, "query_str: " + marks.error().text);
  if (!has_vectors && marks->has("vector"))
    block.diagnostics.error(node.place, "query_str: this database is not given a :vector");
  else if (!marks->has("query") && !marks->has("wildcard") && !marks->has("vector"))
    block.diagnostics.error(node.place, has_vectors ? "query_str must contain :query, :wildcard or :vector"
                                                    : "query_str must contain :query or :wildcard");
}

/// Takes `query_str`.
std::string take_own_statement(EngineBlock& block, Marks marks, bool has_vectors) {
  const YamlNode* node = block.map.take_required("query_str");
  std::string statement = with_named_query(block.text("query_str"));
  block.map.take("limit");  // a SearXNG key without effect: the depth limits the results
  if (node != nullptr && node->is_scalar()) check_statement(block, *node, statement, marks, has_vectors);
  return statement;
}

using MakeStatement = std::string (*)(EngineBlock& block, const std::string& table, const std::string& how);

/// Takes `query_str`, or `table` with `search`.
void take_statement(EngineBlock& block, DatabaseAccess& access, const std::vector<std::string>& kinds,
                    MakeStatement make) {
  take_max_connections(block);
  block.take("url_format", access.url_format);
  const YamlNode* own = block.map.take("query_str");
  const YamlNode* table = make == nullptr ? nullptr : block.map.take("table");
  if (own != nullptr && table != nullptr)
    block.error_at("table", "table and query_str exclude each other; keep one");
  if (table == nullptr) {
    const Marks marks = access.server == Server::postgresql ? Marks::numbered : Marks::question;
    access.statement = take_own_statement(block, marks, true);
    return;
  }
  const std::string how = block.text("search", kinds.front());
  if (std::find(kinds.begin(), kinds.end(), how) == kinds.end())
    block.error_at("search", fmt::format("search must be one of {}", fmt::join(kinds, ", ")));
  access.statement = make(block, quoted_name(access.server, block.text("table")), how);
}

/// Takes the keys that say where a database server is, and the account there.
void take_server(EngineBlock& block, DatabaseAccess& access) {
  block.take("host", access.host);
  block.take("port", access.port, 1, 65535);
  block.take("username", access.username);
  block.take("password", access.password);
}

}  // namespace

void read_sqlite(EngineBlock& block) {
  auto& access = block.engine.access.emplace<SqliteAccess>();
  access.database = block.required_path("database");
  access.statement = take_own_statement(block, Marks::named, false);
  take_max_connections(block);
  block.take("url_format", access.url_format);
}

void read_postgresql(EngineBlock& block) {
  auto& access = block.engine.access.emplace<DatabaseAccess>();
  block.take("connection", access.connection);
  take_server(block, access);
  block.take("database", access.database);
  if (access.connection.empty() && access.database.empty())
    block.error("give connection: postgresql://USER@HOST/NAME, or host and database");
  take_statement(block, access, {"full_text", "trigram", "vector"}, postgresql_statement);
}

void read_mariadb(EngineBlock& block) {
  auto& access = block.engine.access.emplace<DatabaseAccess>();
  access.server = Server::mariadb;
  take_server(block, access);
  if (access.host.empty()) access.host = "127.0.0.1";
  block.map.take_required("database");
  block.take("database", access.database);
  take_statement(block, access, {"full_text", "boolean"}, mariadb_statement);
}

void read_odbc(EngineBlock& block) {
  auto& access = block.engine.access.emplace<DatabaseAccess>();
  access.server = Server::odbc;
  access.connection = block.map.take_required_string("connection");
  take_statement(block, access, {}, nullptr);
}

}  // namespace metafuse::fetchers
