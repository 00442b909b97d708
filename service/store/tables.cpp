#include "service/store/tables.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace metafuse::service {
namespace {

constexpr std::string_view kSchemaVersion = "3";
constexpr std::string_view kReadVersion = "SELECT value FROM meta WHERE name = 'schema'";

// One schema for both databases: SQLite maps the names of PostgreSQL's types to its type affinities.
constexpr std::array kSchema = {
    "CREATE TABLE IF NOT EXISTS searches (id text PRIMARY KEY, domain text NOT NULL, query text NOT NULL, "
    "slots text NOT NULL, at bigint NOT NULL, model text NOT NULL, challenger text NOT NULL, "
    "lists text NOT NULL, times bigint NOT NULL, bytes bigint NOT NULL, results bigint NOT NULL)",
    "CREATE INDEX IF NOT EXISTS searches_at ON searches (at)",
    "CREATE INDEX IF NOT EXISTS searches_asked ON searches (domain, query, at, times, results)",
    "CREATE TABLE IF NOT EXISTS clicks (search text NOT NULL, position bigint NOT NULL, domain text NOT "
    "NULL, "
    "team bigint NOT NULL, at bigint NOT NULL, day bigint NOT NULL, prefix text NOT NULL, "
    "api_key text NOT NULL, weight double precision NOT NULL, PRIMARY KEY (search, position))",
    "CREATE INDEX IF NOT EXISTS clicks_prefix ON clicks (day, prefix)",
    "CREATE INDEX IF NOT EXISTS clicks_key ON clicks (day, api_key)",
    "CREATE INDEX IF NOT EXISTS clicks_domain ON clicks (domain, at)",
    "CREATE INDEX IF NOT EXISTS clicks_at ON clicks (at)",
    "CREATE INDEX IF NOT EXISTS clicks_stored ON clicks (substr(search, 1, 32))",
    "CREATE TABLE IF NOT EXISTS judgments (domain text NOT NULL, query text NOT NULL, document text NOT "
    "NULL, "
    "judge text NOT NULL, grade bigint NOT NULL, search text NOT NULL, at bigint NOT NULL, "
    "PRIMARY KEY (domain, query, document, judge))",
    "CREATE INDEX IF NOT EXISTS judgments_search ON judgments (search)",
    "CREATE TABLE IF NOT EXISTS template_versions (domain text NOT NULL, number bigint NOT NULL, "
    "text text NOT NULL, author text NOT NULL, at bigint NOT NULL, PRIMARY KEY (domain, number))",
    "CREATE TABLE IF NOT EXISTS key_usage (api_key text NOT NULL, day bigint NOT NULL, "
    "amount bigint NOT NULL, PRIMARY KEY (api_key, day))",
    "CREATE TABLE IF NOT EXISTS shared_files (name text PRIMARY KEY, digest text NOT NULL, text text NOT "
    "NULL, change bigint NOT NULL)",
    "CREATE INDEX IF NOT EXISTS shared_files_change ON shared_files (change)",
    "CREATE TABLE IF NOT EXISTS tasks (name text PRIMARY KEY, holder text NOT NULL, ends bigint NOT NULL)",
    "INSERT INTO meta (name, value) VALUES ('bytes', '0')",
};

Result<void> make_tables(SqlSession& session) {
  TRY_VOID(session.lock("schema"));
  TRY_VOID(session.run("CREATE TABLE IF NOT EXISTS meta (name text PRIMARY KEY, value text NOT NULL)"));
  TRY(const std::string version, first_row<std::string>(session, kReadVersion));
  if (!version.empty()) return {};
  for (const char* sql : kSchema) TRY_VOID(session.run(sql));
  return session.run("INSERT INTO meta (name, value) VALUES ('schema', $1)", {kSchemaVersion});
}

}  // namespace

Result<void> prepare_schema(SqlDatabase& database, StoreMode mode) {
  if (mode == StoreMode::serve) TRY_VOID(database.write(make_tables, Patience::migration));
  const auto version =
      database.read_value([](SqlSession& session) { return first_row<std::string>(session, kReadVersion); });
  // without the table; a file that cannot be read, or a server that does not answer, has other errors
  if (!version && mode == StoreMode::read && version.error().code == Code::internal)
    return fail(Code::bad_data, version.error().text + "; this is not a store of metafuse");
  if (!version) return version.error();
  if (*version == kSchemaVersion) return {};
  return fail(
      Code::bad_data,
      fmt::format(
          "the store has version '{}' and this program knows version {}; use the program that made it",
          *version, kSchemaVersion));
}

std::string insert_text(std::string_view table, std::string_view columns) {
  std::string places = "$1";
  for (std::ptrdiff_t i = 2; i <= std::count(columns.begin(), columns.end(), ',') + 1; ++i)
    fmt::format_to(std::back_inserter(places), ", ${}", i);
  return fmt::format("INSERT INTO {} ({}) VALUES ({})", table, columns, places);
}

Result<std::size_t> count_rows(SqlSession& session, std::string_view sql,
                               std::initializer_list<SqlValue> values) {
  std::size_t rows = 0;
  TRY_VOID(session.run(sql, values, [&](SqlRow) -> Result<void> {
    ++rows;
    return {};
  }));
  return rows;
}

}  // namespace metafuse::service
