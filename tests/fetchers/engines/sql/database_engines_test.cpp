// Databases as engines: statements with named values, tested on real servers where these are installed.

#include <algorithm>
#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

#include "core/sqlite_database.h"
#include "fetchers/calling/make_fetcher.h"
#include "fetchers/definition/engine_file.h"
#include "fetchers/engines/sql/database.h"
#include "tests/support/command.h"
#include "tests/support/mariadb_server.h"
#include "tests/support/postgres_server.h"
#include "tests/support/skip.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::fetchers;
using namespace metafuse::test;

namespace {

using SqlMarks = SqlStatementText::Marks;

std::string numbered(const std::string& sql) {
  const auto statement = with_marks(sql, SqlMarks::numbered);
  return statement ? statement->text : statement.error().text;
}

Result<std::vector<Engine>> engines_in(const std::string& yaml) {
  TRY(auto file, parse_engine_file(yaml, "db.yaml"));
  return std::move(file.engines);
}

std::shared_ptr<Fetcher> database_fetcher(const std::string& yaml) {
  auto engines = engines_in(yaml);
  if (!engines) FAIL(engines.error().text);
  FetcherOptions options;
  options.secret_of = [](std::string_view name) {
    return std::optional<std::string>(name == "PASSWORD" ? "secret" : "");
  };
  auto fetcher = make_fetcher(std::move(*engines), std::move(options));
  if (!fetcher) FAIL(fetcher.error().text);
  return *fetcher;
}

FetchedList search_database(Fetcher& fetcher, const std::string& engine, const std::string& text,
                            int depth = 10, int page = 1, Duration wait = std::chrono::seconds(10)) {
  const Clock& clock = machine_clock();
  const ExpandedQuery query{"t", engine, text};
  return fetcher.fetch({&query, 1}, {.depth = depth, .deadline = Deadline(clock, wait), .page = page}, {})
      .front();
}

std::vector<std::string> urls_found(const FetchedList& list) {
  INFO(list.message);
  CHECK(list.failure == Failure::none);
  std::vector<std::string> urls;
  for (const Hit& hit : list.list.hits) urls.push_back(hit.url);
  return urls;
}

using FoundUrls = std::vector<std::string>;

/// Texts that must not change the meaning of a statement and must be found as they are.
const std::vector<std::string> kHostileTexts = {"'; DROP TABLE pages; --",
                                                "\" OR 1=1",
                                                "\\",
                                                "%",
                                                "_",
                                                "''",
                                                "$1",
                                                ":query",
                                                "?",
                                                "a' UNION SELECT 'http://evil/','x','y' --",
                                                "\xF0\x9F\x94\x8D"};

const std::string kPages =
    "INSERT INTO pages VALUES('http://a/','Opening a door','How doors are opened with keys.'),"
    "('http://b/','Closing windows','Windows and doors.'),('http://c/','Bread','Flour and water.')";

}  // namespace

TEST_CASE("Named values become the driver's placeholders except in texts and comments",
          "[fetchers][databases]") {
  CHECK(numbered("SELECT :query, :limit, :query") == "SELECT $1, $2, $1");
  CHECK(numbered("SELECT ':query', \":limit\" -- :offset\n, :query") ==
        "SELECT ':query', \":limit\" -- :offset\n, $1");
  CHECK(numbered("SELECT 'it''s :query' /* :query */ , :wildcard") ==
        "SELECT 'it''s :query' /* :query */ , $1");
  CHECK(numbered("SELECT $$ :query $$, $tag$ :query $$ $tag$, :query") ==
        "SELECT $$ :query $$, $tag$ :query $$ $tag$, $1");
  CHECK(numbered("SELECT :query::text, a[1:2]") == "SELECT $1::text, a[1:2]");
  CHECK(numbered("SELECT :nothing").find("unknown value :nothing") != std::string::npos);
  CHECK(numbered("SELECT $1, :query").find("contains \"?\" or \"$1\"") != std::string::npos);
  CHECK(numbered("SELECT 'unclosed :query") == "SELECT 'unclosed :query");
  const auto marks = with_marks("SELECT `a?`, :query, :offset, :query", SqlMarks::question);
  REQUIRE(marks.has_value());
  CHECK(marks->text == "SELECT `a?`, ?, ?, ?");
  CHECK(marks->names == std::vector<std::string>{"query", "offset", "query"});
  CHECK_FALSE(with_marks("SELECT ? , :query", SqlMarks::question).has_value());
  const auto values = marks->arguments({"x", "", 5, 10});
  CHECK(std::get<std::string>(values[0]) == "x");
  CHECK(std::get<std::int64_t>(values[1]) == 10);
  // a statement that cannot leave out earlier rows returns those too
  const auto limit = [](const std::string& sql) {
    return std::get<std::int64_t>(with_marks(sql, SqlMarks::question)->arguments({"x", "", 5, 10}).at(1));
  };
  CHECK(limit("SELECT :query LIMIT :limit OFFSET :offset") == 5);
  CHECK(limit("SELECT :query LIMIT :limit") == 15);
}

TEST_CASE("Rows become results and rows without a URL are skipped", "[fetchers][databases]") {
  HitRows rows("https://h.example/{id}", 2, 1);
  const std::vector<std::string_view> columns = {"id", "title", "score", "published", "language"};
  for (const char* id : {"skipped", "a b", "c", "too many"})
    rows.add(columns, std::vector<std::string_view>{id, "<b>T</b>", "0.5", "2024-05-01", "ger"});
  const RankedList list = rows.take().value();
  REQUIRE(list.hits.size() == 2);
  CHECK(list.hits[0].url == "https://h.example/a%20b");
  CHECK(list.hits[0].title == "T");
  CHECK(list.hits[0].score == 0.5);
  CHECK(list.hits[0].published.starts_with("2024-05-01"));
  CHECK(list.hits[0].language == "de");
}

TEST_CASE("Rows that lack a part of their URL are skipped and unknown columns are named",
          "[fetchers][databases]") {
  const std::vector<std::string_view> columns = {"id", "title"};
  HitRows rows("https://h.example/t/{id}", 10, 0);
  rows.add(columns, std::vector<std::string_view>{"", "no identifier"});
  rows.add(columns, std::vector<std::string_view>{"7", "seven"});
  const RankedList list = rows.take().value();
  REQUIRE(list.hits.size() == 1);
  CHECK(list.hits[0].url == "https://h.example/t/7");
  HitRows wrong("https://h.example/t/{idd}", 10, 0);
  wrong.add(columns, std::vector<std::string_view>{"7", "seven"});
  CHECK(wrong.is_full());
  const auto refused = wrong.take();
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Code::bad_config);
  CHECK(refused.error().text == "url_format: the statement has no column \"idd\"");
}

TEST_CASE("Mistakes in database definitions are reported", "[fetchers][databases]") {
  const auto mistake = [](const std::string& keys) {
    const auto engines = engines_in("engines:\n  - {name: d, " + keys + "}\n");
    return engines ? std::string("none") : engines.error().text;
  };
  CHECK(
      mistake("engine: postgresql, connection: 'postgresql:///x', query_str: 'SELECT 1 WHERE :query = x'") ==
      "none");
  CHECK(mistake(
            "engine: postgresql, connection: 'postgresql:///x', query_str: 'DELETE FROM a WHERE :query = x'")
            .find("must be a SELECT") != std::string::npos);
  CHECK(mistake("engine: postgresql, connection: 'postgresql:///x', query_str: 'SELECT 1'")
            .find("must contain :query") != std::string::npos);
  CHECK(mistake("engine: postgresql, connection: 'postgresql:///x', query_str: 'SELECT :what, :query'")
            .find(":what") != std::string::npos);
  CHECK(mistake("engine: postgresql, table: pages").find("give connection") != std::string::npos);
  CHECK(mistake("engine: postgresql, database: x, table: pages, search: fuzzy").find("full_text, trigram") !=
        std::string::npos);
  CHECK(mistake("engine: postgresql, database: x, table: pages, search: vector")
            .find("needs the query's vector") != std::string::npos);
  const std::string postgresql = "engine: postgresql, database: x, query_str: \"";
  CHECK(mistake(postgresql + "SELECT url FROM p WHERE tags ? 'open' AND title ILIKE :wildcard\"") == "none");
  CHECK(mistake(postgresql + "SELECT url FROM p WHERE n = $1 AND title ILIKE :wildcard\"").find("\"$1\"") !=
        std::string::npos);
  const std::string sqlite = "engine: sqlite, database: x.db, query_str: \"";
  for (const std::string right : {"Select url FROM p WHERE t = :query", "(SELECT :query AS url)",
                                  "SELECT url FROM p WHERE t LIKE '%(search_term)s'",
                                  "SELECT d AS [time:seen], u AS [u?] FROM p WHERE t = :query"})
    CHECK(mistake(sqlite + right + "\"") == "none");
  CHECK(mistake(sqlite + "SELECT url FROM p WHERE t LIKE :wildcard AND lang = :lang\"")
            .find("unknown value :lang") != std::string::npos);
  CHECK(mistake(sqlite + "SELECT u AS [u:r] FROM p WHERE t = ? OR t = :query\"").find("contains \"?\"") !=
        std::string::npos);
  CHECK(mistake(sqlite + "SELECT :vector AS url\"").find("not given a :vector") != std::string::npos);
  CHECK(mistake(sqlite + "SELECT 1 AS url\"").find("must contain :query or :wildcard") != std::string::npos);
  CHECK(mistake("engine: postgresql, database: x, table: p, query_str: 'SELECT :query'").find("keep one") !=
        std::string::npos);
  CHECK(mistake("engine: mysql_server, query_str: 'SELECT %(search_term)s AS url'").find("database") !=
        std::string::npos);
  CHECK(mistake(
            "engine: mysql_server, database: d, limit: 10, query_str: \"SELECT '%(search_term)s' AS url\"") ==
        "none");
  CHECK(mistake("engine: odbc, query_str: 'SELECT :query'").find("connection") != std::string::npos);
}

TEST_CASE("PostgreSQL is searched in every mode and only read", "[fetchers][databases][postgresql]") {
  const auto server = PostgresServer::start();
  if (!server) return;
  const std::string url = server->new_database();
  const std::string psql = find_program("psql");
  const auto run = [&](const std::string& sql) {
    return run_command({psql, "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql}).status == 0;
  };
  REQUIRE(run("CREATE TABLE pages(url text, title text, content text, near float8[]); " +
              std::string("CREATE EXTENSION IF NOT EXISTS pg_trgm; ")));
  REQUIRE(
      run("INSERT INTO pages VALUES('http://a/','Opening a door','How doors are opened with keys.','{1,0}'),"
          "('http://b/','Closing windows','Windows and doors.','{0,1}'),('http://c/','Bread','Flour and "
          "water.','{-1,0}')"));
  const std::string begin = "  - {engine: postgresql, connection: '" + url + "', ";
  const auto fetcher = database_fetcher(
      "engines:\n" + begin + "name: words, table: pages, language: english}\n" + begin +
      "name: trigrams, table: public.pages, search: trigram, columns: {content: title}}\n" + begin +
      "name: own, query_str: \"SELECT url, title, :query AS content FROM pages WHERE title ILIKE :wildcard "
      "OR :query <> '' "
      "ORDER BY url\"}\n" +
      begin +
      "name: write, query_str: \"WITH gone AS (DELETE FROM pages WHERE title <> :query RETURNING url) SELECT "
      "url "
      "FROM gone\"}\n" +
      begin + "name: slow, timeout: 0.3, query_str: \"SELECT pg_sleep(20), :query AS url\"}\n" + begin +
      "name: many, query_str: \"SELECT 'http://n/' || a || '/' || b AS url FROM generate_series(1, 9999) AS "
      "b, generate_series(1, 9999) AS a WHERE "
      ":query <> ''\"}\n" +
      begin + "name: broken, query_str: \"SELECT url FROM nowhere WHERE title = :query\"}\n");
  CHECK(urls_found(search_database(*fetcher, "words", "door")) == FoundUrls{"http://a/", "http://b/"});
  CHECK(urls_found(search_database(*fetcher, "words", "\"opened with keys\" -windows")) ==
        FoundUrls{"http://a/"});
  CHECK(urls_found(search_database(*fetcher, "words", "door", 1, 2)) == FoundUrls{"http://b/"});
  CHECK(search_database(*fetcher, "words", "door").list.hits[0].score.has_value());
  CHECK(urls_found(search_database(*fetcher, "trigrams", "windos")) == FoundUrls{"http://b/"});
  for (const std::string& text : kHostileTexts) {
    INFO(text);
    const FetchedList list = search_database(*fetcher, "own", text);
    REQUIRE(urls_found(list) == FoundUrls{"http://a/", "http://b/", "http://c/"});
    CHECK(list.list.hits[0].snippet == text);
    search_database(*fetcher, "words", text);
    search_database(*fetcher, "trigrams", text);
  }
  const FetchedList wrote = search_database(*fetcher, "write", "x");
  CHECK(wrote.failure == Failure::bad_answer);
  CHECK(wrote.message.find("read-only") != std::string::npos);
  CHECK(urls_found(search_database(*fetcher, "own", "x")).size() == 3);
  CHECK(search_database(*fetcher, "slow", "x").failure == Failure::timeout);
  CHECK(search_database(*fetcher, "slow", "x", 10, 1, std::chrono::milliseconds(100)).failure ==
        Failure::timeout);
  CHECK(urls_found(search_database(*fetcher, "many", "x", 3)).size() == 3);
  CHECK(search_database(*fetcher, "broken", "x").message.find("nowhere") != std::string::npos);
  CHECK(search_database(*fetcher, "words", std::string("a\0b", 3)).has_failed());
  server->stop();
  CHECK(search_database(*fetcher, "words", "door").failure == Failure::refused);
  server->restart();
  CHECK(urls_found(search_database(*fetcher, "words", "door")).size() == 2);
}

/// Searches at once from many threads; each must find its own query.
int mixed_up_searches(Fetcher& fetcher, const std::string& engine) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 200; ++i) {
        const std::string text = "query " + std::to_string(thread) + " " + std::to_string(i);
        const FetchedList list = search_database(fetcher, engine, text);
        if (list.has_failed() || list.list.hits.size() != 1 || list.list.hits[0].title != text) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

TEST_CASE("A score that is no finite number is none", "[fetchers][databases]") {
  HitRows rows("", 10, 0);
  const std::vector<std::string_view> columns = {"url", "title", "score"};
  for (const std::string_view score : {"NaN", "Infinity", "-inf", "1e999", "0.5"})
    rows.add(columns, std::vector<std::string_view>{"http://a.example/", "t", score});
  const RankedList list = rows.take().value();
  REQUIRE(list.hits.size() == 5);
  for (std::size_t i = 0; i < 4; ++i) CHECK_FALSE(list.hits[i].score.has_value());
  CHECK(list.hits[4].score == 0.5);
}

TEST_CASE("MariaDB is not even connected to when a search has waited too long", "[fetchers][databases]") {
  DatabaseAccess access;
  access.server = DatabaseAccess::Server::mariadb;
  access.host = "/no/such/socket";
  access.statement = "SELECT :query";
  const auto database = make_mariadb(access, std::chrono::seconds(3));
  const auto late = database->search({.query = "x", .vector = {}}, Deadline(machine_clock(), Duration(0)));
  REQUIRE_FALSE(late.has_value());
  if (late.error().code == Code::bad_config) return skip("built without MariaDB");
  CHECK(late.error().code == Code::try_again);
}

TEST_CASE("MariaDB is searched by full text and statements and only read", "[fetchers][databases][mariadb]") {
  const auto server = MariadbServer::start();
  if (!server) return;
  server->run(
      "CREATE DATABASE docs CHARACTER SET utf8mb4; USE docs; CREATE TABLE pages(url VARCHAR(200), title "
      "VARCHAR(200), "
      "content TEXT, FULLTEXT(title, content)); " +
      kPages +
      "; CREATE USER reader@localhost IDENTIFIED BY 'secret'; GRANT ALL ON docs.* TO reader@localhost;");
  const std::string begin = "  - {engine: mariadb, host: '" + server->socket() +
                            "', database: docs, username: reader, password: '${PASSWORD}', ";
  const auto fetcher = database_fetcher(
      "engines:\n" + begin + "name: words, table: pages}\n" + begin +
      "name: all, table: pages, search: boolean}\n" + begin +
      "name: own, query_str: \"SELECT url, title, :query AS content FROM pages WHERE :query <> 'none' ORDER "
      "BY url LIMIT "
      ":limit OFFSET :offset\"}\n" +
      begin + "name: slow, timeout: 0.5, query_str: \"SELECT SLEEP(20), :query AS url\"}\n" + begin +
      "name: echo, max_connections: 16, query_str: \"SELECT 'http://e/' AS url, :query AS title\"}\n" +
      begin + "name: broken, query_str: \"SELECT url FROM nowhere WHERE title = :query\"}\n" +
      "  - {engine: mariadb, name: stranger, host: '" + server->socket() +
      "', database: docs, username: reader, password: wrong, table: pages}\n");
  CHECK(urls_found(search_database(*fetcher, "words", "doors windows")) ==
        FoundUrls{"http://b/", "http://a/"});
  CHECK(urls_found(search_database(*fetcher, "all", "+doors -windows")) == FoundUrls{"http://a/"});
  CHECK(urls_found(search_database(*fetcher, "own", "x", 1, 2)) == FoundUrls{"http://b/"});
  for (const std::string& text : kHostileTexts) {
    INFO(text);
    const FetchedList list = search_database(*fetcher, "own", text);
    REQUIRE(urls_found(list) == FoundUrls{"http://a/", "http://b/", "http://c/"});
    CHECK(list.list.hits[0].snippet == text);
  }
  const FetchedList slow = search_database(*fetcher, "slow", "x");
  INFO(slow.message);
  CHECK(slow.failure == Failure::timeout);
  CHECK(search_database(*fetcher, "broken", "x").message.find("nowhere") != std::string::npos);
  CHECK(search_database(*fetcher, "stranger", "x").failure == Failure::refused);
  CHECK(mixed_up_searches(*fetcher, "echo") == 0);
}

/// Whether a driver of ODBC is installed; if not, skips the test.
bool has_driver(const FetchedList& list, const std::string& package) {
  const bool has = list.message.find("was built without") == std::string::npos &&
                   list.message.find("file not found") == std::string::npos &&
                   list.message.find("Data source name not found") == std::string::npos;
  if (!has) skip("install the Debian package " + package + " (scripts/test --full)");
  return has;
}

TEST_CASE("ODBC searches SQLite through its driver", "[fetchers][databases][odbc]") {
  const TemporaryFolder folder;
  const std::string file = folder.path("pages.db");
  {
    auto made = SqliteDatabase::open(file, {.mode = SqliteMode::create});
    REQUIRE(made->run(("CREATE TABLE pages(url, title, content); " + kPages).c_str()).has_value());
  }
  const auto fetcher = database_fetcher(
      "engines:\n  - {engine: odbc, name: lite, connection: 'Driver=SQLite3;Database=" + file +
      "', query_str: \"SELECT url, title, :query AS content FROM pages WHERE title LIKE :wildcard OR :query "
      "<> 'door' ORDER BY url LIMIT :limit\"}\n");
  const FetchedList list = search_database(*fetcher, "lite", "door");
  if (!has_driver(list, "libsqliteodbc")) return;
  CHECK(urls_found(list) == FoundUrls{"http://a/"});
  for (const std::string& text : kHostileTexts) {
    INFO(text);
    const FetchedList found = search_database(*fetcher, "lite", text);
    REQUIRE(urls_found(found) == FoundUrls{"http://a/", "http://b/", "http://c/"});
    CHECK(found.list.hits[0].snippet == text);
  }
  // the statement has LIMIT without OFFSET
  CHECK(urls_found(search_database(*fetcher, "lite", "x", 1, 2)) == FoundUrls{"http://b/"});
}

TEST_CASE("ODBC searches PostgreSQL through its driver", "[fetchers][databases][odbc]") {
  const auto server = PostgresServer::start();
  if (!server) return;
  const std::string url = server->new_database();  // postgresql:///NAME?host=FOLDER&user=tester
  const std::string name = url.substr(14, url.find('?') - 14);
  const std::string host = url.substr(url.find("host=") + 5, url.find('&') - url.find("host=") - 5);
  const auto fetcher = database_fetcher(
      "engines:\n  - {engine: odbc, name: post, connection: 'Driver=PostgreSQL Unicode;Servername=" + host +
      ";Database=" + name +
      ";Username=tester', query_str: \"SELECT 'http://p/' || n AS url, CAST(:query AS text) AS title FROM "
      "generate_series(1, 5) AS n\"}\n");
  const FetchedList list = search_database(*fetcher, "post", "x", 2);
  if (!has_driver(list, "odbc-postgresql")) return;
  CHECK(urls_found(list) == FoundUrls{"http://p/1", "http://p/2"});
}

TEST_CASE("ODBC refuses a connection to an unknown driver", "[fetchers][databases][odbc]") {
  const auto fetcher = database_fetcher(
      "engines:\n  - {engine: odbc, name: none, connection: 'Driver=Nowhere', query_str: 'SELECT :query AS "
      "url'}\n");
  const FetchedList list = search_database(*fetcher, "none", "x");
  if (list.message.find("was built without") != std::string::npos)
    return skip("scripts/setup --with databases");
  CHECK(list.failure == Failure::refused);
}
