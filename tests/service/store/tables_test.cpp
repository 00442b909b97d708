#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <sqlite3.h>

#include "service/store/store.h"
#include "tests/support/command.h"
#include "tests/support/postgres_server.h"
#include "tests/support/running_program.h"
#include "tests/support/sample_search.h"
#include "tests/support/temporary_folder.h"

// Two versions share one store while servers are upgraded or downgraded one after another.

using namespace metafuse;
using namespace metafuse::service;

namespace {

/// Runs SQL as another program would.
void run_statement(const std::string& location, const std::string& sql) {
  if (is_postgres_url(location)) {
    const std::string psql = test::find_program("psql");
    REQUIRE(test::run_command({psql, "-q", "-v", "ON_ERROR_STOP=1", "-d", location, "-c", sql}).status == 0);
    return;
  }
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(location.c_str(), &database) == SQLITE_OK);
  sqlite3_busy_timeout(database, 10000);
  CHECK(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
}

/// What a later version may add without raising the schema's version.
constexpr const char* kExtensions[] = {
    "ALTER TABLE searches ADD COLUMN later bigint NOT NULL DEFAULT 7",
    "ALTER TABLE clicks ADD COLUMN later text NOT NULL DEFAULT 'x'",
    "ALTER TABLE judgments ADD COLUMN later double precision",
    "ALTER TABLE shared_files ADD COLUMN later bigint NOT NULL DEFAULT 0",
    "ALTER TABLE tasks ADD COLUMN later bigint NOT NULL DEFAULT 0",
    "CREATE TABLE later_things (name text PRIMARY KEY)",
    "CREATE INDEX later_index ON searches (model)",
    "INSERT INTO meta (name, value) VALUES ('later', 'value')",
};

/// Writes and reads every kind of record.
void use(Store& store, const std::string& mark) {
  std::vector<StoredSearch> searches;
  for (int i = 0; i < 20; ++i) searches.push_back(test::sample_search());
  REQUIRE(store.searches.add(searches).has_value());
  const StoredSearch one = test::sample_search();
  REQUIRE(store.searches.add({&one, 1}).has_value());
  REQUIRE(store.searches.find(one.id)->has_value());
  CHECK(**store.searches.find(one.id) == one);
  Click click;
  click.search = one.id;
  click.domain = "shoes";
  click.at = test::kNewYear;
  CHECK(*store.clicks.add(click, {1e6, 1e6}) == ClickOutcome::recorded);
  CHECK(store.clicks.of(one.id)->size() == 1);
  REQUIRE(store.judgments.set({"shoes", one.query, "example.org/1", mark, 2, one.id, test::kNewYear})
              .has_value());
  CHECK(store.judgments.queries("shoes")->size() == 1);
  CHECK(store.templates.add({"shoes", 0, mark, "ann", 1}).has_value());
  const SharedChange change{"templates/" + mark, "", mark};
  CHECK(*store.shared.change_files({&change, 1}));
  CHECK(store.shared.hold_task(mark, mark, 10).has_value());
  CHECK(store.shared.add_usage(mark, 1, 5).has_value());
  CHECK(store.searches.asked_queries("shoes", 10)->size() == 1);
  std::size_t lines = 0;
  REQUIRE(store
              .export_lines([&](std::string_view) -> Result<void> {
                ++lines;
                return {};
              })
              .has_value());
  CHECK(lines >= 24);
}

void check_versions_side_by_side(const std::string& location) {
  {
    auto running = open_store(location);
    if (!running) FAIL(running.error().text);
    use(**running, "before");
    for (const char* sql : kExtensions) run_statement(location, sql);
    use(**running, "meanwhile");
    CHECK((*running)->remove_before(1).has_value());
  }
  {
    auto stepped_back = open_store(location);
    if (!stepped_back) FAIL(stepped_back.error().text);
    use(**stepped_back, "afterwards");
    CHECK((*stepped_back)->templates.all("shoes")->size() == 3);
    CHECK((*stepped_back)->shared.files(0)->size() == 3);
  }
  run_statement(location, "UPDATE meta SET value = '4' WHERE name = 'schema'");
  const auto refused = open_store(location);
  REQUIRE(refused.has_error());
  CHECK(refused.error().code == Code::bad_data);
  CHECK(refused.error().text.find("use the program that made it") != std::string::npos);
}

}  // namespace

TEST_CASE("Additions of a later version to a SQLite store do not disturb older servers", "[service][store]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  check_versions_side_by_side(folder.path("s.db"));
}

TEST_CASE("Additions of a later version to a PostgreSQL store do not disturb older servers",
          "[service][store]") {
  const auto server = test::PostgresServer::start();
  if (server != nullptr) check_versions_side_by_side(server->new_database());
}
