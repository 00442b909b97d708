// Engines that are SQL databases. Their statement is written in the definition, or built from a
// table's columns.

#include <algorithm>

#include <fmt/format.h>

#include "core/ascii.h"
#include "fetchers/databases/sql_rows.h"
#include "fetchers/definition/engine_types.h"

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
    YamlMap map(*node, "columns", block.diagnostics);
    url = map.take_string("url").value_or(url);
    title = map.take_string("title").value_or(title);
    content = map.take_string("content").value_or(content);
    map.finish();
  }
  return {quoted_name(server, url), quoted_name(server, title), quoted_name(server, content)};
}

/// A word that is inserted into a statement unquoted: the name of a text search configuration.
std::string take_word(EngineBlock& block, std::string_view key, const std::string& preset) {
  const YamlNode* node = block.map.take(key);
  const std::string word = block.map.take_string(key).value_or(preset);
  const bool is_word = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!is_word && node != nullptr)
    block.diagnostics.error(node->place, std::string(key) + " may contain only a-z, 0-9 and _");
  return is_word ? word : preset;
}

std::string postgresql_statement(EngineBlock& block, const std::string& table, const std::string& how) {
  const TableColumns columns = take_columns(block, Server::postgresql);
  const std::string shown = fmt::format("SELECT {} AS url, {} AS title, {} AS content", columns.url,
                                        columns.title, columns.content);
  const std::string text =
      fmt::format("coalesce({}, '') || ' ' || coalesce({}, '')", columns.title, columns.content);
  if (how == "trigram")
    return fmt::format(
        "{0}, word_similarity(:query, {1}) AS score FROM {2} WHERE :query <% ({1}) ORDER BY score DESC, 1 "
        "LIMIT :limit OFFSET :offset",
        shown, text, table);
  if (how == "vector") {
    const std::string field =
        quoted_name(Server::postgresql, block.map.take_string("vector_field").value_or("embedding"));
    return fmt::format(
        "{0}, 1 - ({1} <=> CAST(:vector AS vector)) AS score FROM {2} ORDER BY {1} <=> CAST(:vector AS "
        "vector) "
        "LIMIT :limit OFFSET :offset",
        shown, field, table);
  }
  const std::string language = take_word(block, "language", "simple");
  const auto column = block.map.take_string("tsvector");
  const std::string words = column ? quoted_name(Server::postgresql, *column)
                                   : fmt::format("to_tsvector('{}', {})", language, text);
  return fmt::format(
      "{}, ts_rank_cd({}, asked) AS score FROM {}, websearch_to_tsquery('{}', :query) AS asked WHERE {} @@ "
      "asked "
      "ORDER BY score DESC, 1 LIMIT :limit OFFSET :offset",
      shown, words, table, language, words);
}

/// Requires a FULLTEXT index over both columns.
std::string mariadb_statement(EngineBlock& block, const std::string& table, const std::string& how) {
  const TableColumns columns = take_columns(block, Server::mariadb);
  const std::string match = fmt::format("MATCH({}, {}) AGAINST (:query IN {} MODE)", columns.title,
                                        columns.content, how == "boolean" ? "BOOLEAN" : "NATURAL LANGUAGE");
  return fmt::format(
      "SELECT {} AS url, {} AS title, {} AS content, {} AS score FROM {} WHERE {} ORDER BY score DESC, 1 "
      "LIMIT :limit "
      "OFFSET :offset",
      columns.url, columns.title, columns.content, match, table, match);
}

/// Replaces SearXNG's `%(search_term)s`, with or without quotes around it, by the query parameter.
std::string with_named_query(std::string statement) {
  for (const std::string_view form : {"'%(search_term)s'", "%(search_term)s"})
    for (std::size_t at = statement.find(form); at != std::string::npos; at = statement.find(form))
      statement.replace(at, form.size(), ":query");
  return statement;
}

void check_statement(EngineBlock& block, const YamlNode& node, const std::string& statement) {
  const std::size_t first = std::min(statement.find_first_not_of(" \t\r\n("), statement.size());
  const std::string begin = ascii_lower(statement.substr(first, 6));
  if (!begin.starts_with("select") && !begin.starts_with("with"))
    block.diagnostics.error(node.place, "query_str must be a SELECT");
  const auto marks = with_marks(statement, SqlStatementText::Marks::question);
  if (!marks) return block.diagnostics.error(node.place, "query_str: " + marks.error().text);
  if (!marks->has("query") && !marks->has("wildcard") && !marks->has("vector"))
    block.diagnostics.error(node.place, "query_str must contain :query, :wildcard or :vector");
}

using MakeStatement = std::string (*)(EngineBlock& block, const std::string& table, const std::string& how);

/// Takes `query_str`, or `table` with `search`.
void take_statement(EngineBlock& block, DatabaseAccess& access, const std::vector<std::string>& kinds,
                    MakeStatement make) {
  access.url_format = block.map.take_string("url_format").value_or("");
  const YamlNode* own = block.map.take("query_str");
  const YamlNode* table = make == nullptr ? nullptr : block.map.take("table");
  if (own != nullptr && table != nullptr)
    block.diagnostics.error(table->place, "table and query_str exclude each other; keep one");
  if (table == nullptr) {
    block.map.take_required("query_str");
    access.statement = with_named_query(block.map.take_string("query_str").value_or(""));
    block.map.take("limit");  // a SearXNG key without effect: the depth limits the results
    if (own != nullptr && own->is_scalar()) check_statement(block, *own, access.statement);
    return;
  }
  const std::string how = block.map.take_string("search").value_or(kinds.front());
  if (std::find(kinds.begin(), kinds.end(), how) == kinds.end()) {
    std::string known;
    for (const std::string& kind : kinds) known += (known.empty() ? "" : ", ") + kind;
    block.diagnostics.error(block.map.take("search")->place, "search must be one of " + known);
  }
  access.statement =
      make(block, quoted_name(access.server, block.map.take_string("table").value_or("")), how);
}

void take_server(EngineBlock& block, DatabaseAccess& access) {
  access.host = block.map.take_string("host").value_or("");
  access.port = static_cast<int>(block.map.take_integer("port", 1, 65535).value_or(0));
  access.username = block.map.take_string("username").value_or("");
  access.password = block.map.take_string("password").value_or("");
  access.database = block.map.take_string("database").value_or("");
}

}  // namespace

void read_postgresql(EngineBlock& block) {
  DatabaseAccess access;
  access.connection = block.map.take_string("connection").value_or("");
  take_server(block, access);
  if (access.connection.empty() && access.database.empty())
    block.diagnostics.error(block.map.place(),
                            "give connection: postgresql://USER@HOST/NAME, or host and database");
  take_statement(block, access, {"full_text", "trigram", "vector"}, postgresql_statement);
  block.engine.access = std::move(access);
}

void read_mariadb(EngineBlock& block) {
  DatabaseAccess access;
  access.server = Server::mariadb;
  take_server(block, access);
  if (access.host.empty()) access.host = "127.0.0.1";
  block.map.take_required("database");
  take_statement(block, access, {"full_text", "boolean"}, mariadb_statement);
  block.engine.access = std::move(access);
}

void read_odbc(EngineBlock& block) {
  DatabaseAccess access;
  access.server = Server::odbc;
  access.connection = block.map.take_required_string("connection");
  take_statement(block, access, {}, nullptr);
  block.engine.access = std::move(access);
}

}  // namespace metafuse::fetchers
