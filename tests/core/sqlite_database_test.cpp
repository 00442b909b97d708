#include "core/sqlite_database.h"

#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"

using namespace metafuse;

TEST_CASE("A database to be read must be there and is never made", "[core][sqlite]") {
  const test::TemporaryFolder folder;
  for (const std::string& path : {folder.path("none.db"), folder.path()}) {
    const auto opened = SqliteDatabase::open(path, {});
    REQUIRE(opened.has_error());
    CHECK(opened.error().code == Code::no_input);
    CHECK(opened.error().text == path + ": no such database");
  }
  CHECK_FALSE(std::filesystem::exists(folder.path("none.db")));
  CHECK(SqliteDatabase::open(folder.path("none.db"), {.mode = SqliteMode::create}).has_value());
}

TEST_CASE("A statement without words is refused", "[core][sqlite]") {
  const test::TemporaryFolder folder;
  auto database = SqliteDatabase::open(folder.path("x.db"), {.mode = SqliteMode::create});
  REQUIRE(database.has_value());
  for (const char* sql : {"", "  ", "-- nothing"}) {
    const auto statement = database->prepare(sql);
    REQUIRE(statement.has_error());
    CHECK(statement.error().text.find("an empty statement") != std::string::npos);
  }
}
