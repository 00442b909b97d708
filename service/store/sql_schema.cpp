#include "service/store/sql_schema.h"

#include <array>
#include <string>
#include <string_view>

#include "service/store/sql_rows.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kSchemaVersion = "1";

// One text for both databases: SQLite takes the names of PostgreSQL's types by their affinity.
constexpr std::array kSchema = {
    "CREATE TABLE IF NOT EXISTS searches (id text PRIMARY KEY, domain text NOT NULL, query text NOT NULL, "
    "slots text NOT NULL, at bigint NOT NULL, model text NOT NULL, challenger text NOT NULL, lists text NOT "
    "NULL)",
    "CREATE INDEX IF NOT EXISTS searches_at ON searches (at)",
    "CREATE TABLE IF NOT EXISTS clicks (search text NOT NULL, position bigint NOT NULL, domain text NOT "
    "NULL, "
    "team bigint NOT NULL, at bigint NOT NULL, day bigint NOT NULL, prefix text NOT NULL, api_key text NOT "
    "NULL, "
    "weight double precision NOT NULL, PRIMARY KEY (search, position))",
    "CREATE INDEX IF NOT EXISTS clicks_prefix ON clicks (day, prefix)",
    "CREATE INDEX IF NOT EXISTS clicks_key ON clicks (day, api_key)",
    "CREATE INDEX IF NOT EXISTS clicks_domain ON clicks (domain, at)",
    "CREATE TABLE IF NOT EXISTS judgments (domain text NOT NULL, query text NOT NULL, document text NOT "
    "NULL, "
    "judge text NOT NULL, grade bigint NOT NULL, search text NOT NULL, at bigint NOT NULL, "
    "PRIMARY KEY (domain, query, document, judge))",
    "CREATE INDEX IF NOT EXISTS judgments_search ON judgments (search)",
    "CREATE TABLE IF NOT EXISTS template_versions (domain text NOT NULL, number bigint NOT NULL, "
    "text text NOT NULL, author text NOT NULL, at bigint NOT NULL, PRIMARY KEY (domain, number))",
    "CREATE TABLE IF NOT EXISTS key_usage (api_key text NOT NULL, day bigint NOT NULL, amount bigint NOT "
    "NULL, "
    "PRIMARY KEY (api_key, day))",
};

Result<void> make_tables(SqlSession& session) {
  if (auto locked = session.lock("schema"); locked.has_error()) return locked;
  auto made = session.run("CREATE TABLE IF NOT EXISTS meta (name text PRIMARY KEY, value text NOT NULL)");
  if (made.has_error()) return made;
  std::string version;
  auto read = session.run("SELECT value FROM meta WHERE name = 'schema'", {}, into(version));
  if (read.has_error() || !version.empty()) return read;
  for (const char* sql : kSchema)
    if (auto run = session.run(sql); run.has_error()) return run;
  return session.run("INSERT INTO meta (name, value) VALUES ('schema', $1)", {kSchemaVersion});
}

}  // namespace

Result<void> prepare_schema(SqlDatabase& database, StoreMode mode) {
  if (mode == StoreMode::serve) {
    auto made = database.write(make_tables);
    if (made.has_error()) return made;
  }
  std::string version;
  auto read = database.read([&](SqlSession& session) {
    return session.run("SELECT value FROM meta WHERE name = 'schema'", {}, into(version));
  });
  if (read.has_error() && mode == StoreMode::read)
    return fail(Code::bad_data, read.error().text + "; this is no store of metafuse");
  if (read.has_error()) return read;
  if (version == kSchemaVersion) return {};
  return fail(Code::bad_data, "the store has version '" + version + "' and this program knows version " +
                                  std::string(kSchemaVersion) + "; use the program that made it");
}

}  // namespace metafuse::service
