#include "fetchers/engines/sql/connection_text.h"

#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "fetchers/calling/make_fetcher.h"
#include "fetchers/definition/engine_file.h"

using namespace metafuse;
using namespace metafuse::fetchers;

namespace {

std::string filled(const std::string& connection, const std::string& secret,
                   DatabaseAccess::Server server = DatabaseAccess::Server::postgresql) {
  DatabaseAccess database;
  database.server = server;
  database.connection = connection;
  const auto done = fill_secrets(database, Engine(), [&](std::string_view) { return std::optional(secret); });
  return done ? database.connection : done.error().text;
}

std::string filled_odbc(const std::string& connection, const std::string& secret) {
  return filled(connection, secret, DatabaseAccess::Server::odbc);
}

}  // namespace

TEST_CASE("A secret stays one value of a connection string whatever it contains",
          "[fetchers][databases][security]") {
  // PostgreSQL's URL
  CHECK(filled("postgresql://u:${P}@h/db", "a@b/c?d") == "postgresql://u:a%40b%2Fc%3Fd@h/db");
  CHECK(filled("postgres://${U}:${P}@h/db", "a@b") == "postgres://a%40b:a%40b@h/db");
  CHECK(filled("postgresql://h/db?user=u&password=${P}", "a&b") == "postgresql://h/db?user=u&password=a%26b");
  // its name=value
  CHECK(filled("host=h password=${P} dbname=d", "a b'c\\d") == "host=h password=a\\ b\\'c\\\\d dbname=d");
  CHECK(filled("host=h password = '${P}' dbname=d", "a b'c") == "host=h password = 'a b\\'c' dbname=d");
  CHECK(filled("password=${P} dbname=d", "") == "password='' dbname=d");
  // ODBC's string
  CHECK(filled_odbc("DSN=d;UID=u;PWD=${P}", "a;b}c") == "DSN=d;UID=u;PWD={a;b}}c}");
  CHECK(filled_odbc("DSN=d;PWD={${P}};UID=u", "a;b}c") == "DSN=d;PWD={a;b}}c};UID=u");
  CHECK(filled_odbc("DSN=d;PWD=${P}", "plain!@") == "DSN=d;PWD=plain!@");
}

TEST_CASE("A secret that is more than one value of a connection string is left as it is",
          "[fetchers][databases]") {
  CHECK(filled("${ALL}", "postgresql://u:a%40b@h/db") == "postgresql://u:a%40b@h/db");
  CHECK(filled("postgresql://${HOST}/db", "db.example:5432") == "postgresql://db.example:5432/db");
  CHECK(filled("postgresql://${ACCOUNT}@h/db", "u:a%40b") == "postgresql://u:a%40b@h/db");
  CHECK(filled("host=h ${MORE}", "user=u dbname=d") == "host=h user=u dbname=d");
  CHECK(filled_odbc("${ALL}", "DSN=d;PWD=p") == "DSN=d;PWD=p");
}

TEST_CASE("What a database's driver says does not repeat a secret", "[fetchers][databases][security]") {
  const auto file = parse_engine_file(
      "engines:\n  - {name: d, engine: postgresql, connection: 'hunter=${P}', query_str: 'SELECT :query'}\n",
      "d.yaml");
  REQUIRE(file.has_value());
  FetcherOptions options;
  options.secret_of = [](std::string_view) { return std::optional<std::string>("hunter2"); };
  // libpq quotes the name of a parameter that it does not know
  auto engines = file->engines;
  std::get<DatabaseAccess>(engines.front().access).connection = "${P}=1";
  const auto fetcher = make_fetcher(engines, options);
  REQUIRE(fetcher.has_value());
  const ExpandedQuery query{"t", "d", "x"};
  const FetchedList list =
      (*fetcher)
          ->fetch({&query, 1}, {.deadline = Deadline(machine_clock(), std::chrono::seconds(20))}, {})
          .front();
  CHECK(list.has_failed());
  CHECK(list.message.find("REDACTED") != std::string::npos);
  CHECK(list.message.find("hunter2") == std::string::npos);
}
