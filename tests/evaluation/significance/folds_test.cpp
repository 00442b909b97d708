#include <algorithm>

#include <catch2/catch.hpp>

#include "evaluation/significance/significance.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::evaluation;

TEST_CASE("Random folds are even and do not depend on the order of the queries", "[evaluation][folds]") {
  std::vector<std::string> names;
  for (int i = 0; i < 103; ++i) names.push_back("q" + std::to_string(i));
  std::vector<std::string_view> queries(names.begin(), names.end());
  const auto folds = random_folds(queries, 4, 9);
  REQUIRE(folds.has_value());
  for (std::size_t fold = 0; fold < 4; ++fold) {
    const auto size = std::count(folds->fold_of.begin(), folds->fold_of.end(), fold);
    CHECK(size >= 25);
    CHECK(size <= 26);
  }
  std::vector<std::string_view> reversed(queries.rbegin(), queries.rend());
  auto other = random_folds(reversed, 4, 9)->fold_of;
  std::reverse(other.begin(), other.end());
  CHECK(other == folds->fold_of);
  CHECK(random_folds(queries, 4, 10)->fold_of != folds->fold_of);
  CHECK(random_folds(queries, 1, 1).error().code == Code::usage);
  CHECK(random_folds(queries, 104, 1).error().code == Code::usage);
}

TEST_CASE("A fold file names a fold for every query", "[evaluation][folds]") {
  const test::TemporaryFolder folder;
  const std::vector<std::string_view> queries{"7", "8", "9"};
  const auto folds = read_folds(folder.write("f", "9 2\r\n7 1\r\n8 2"), queries);
  REQUIRE(folds.has_value());
  CHECK(folds->fold_of == std::vector<std::size_t>{0, 1, 1});
  const auto error_of = [&](std::string_view text) {
    return read_folds(folder.write("f", text), queries).error().text;
  };
  CHECK(error_of("7 1\n8 2\n").find("has no fold for the query 9") != std::string::npos);
  CHECK(error_of("7 1\n8 2\n9 x\n").find(":3: the fold must be") != std::string::npos);
  CHECK(error_of("7 1\n7 2\n9 1\n").find(":2: the query 7 occurs twice") != std::string::npos);
  CHECK(error_of("7 1\n8 3\n9 1\n").find("without a gap") != std::string::npos);
  CHECK(error_of("7\n").find(":1: a line needs two columns") != std::string::npos);
}

TEST_CASE("Two folds are the fewest, and a fold needs a query", "[evaluation][folds]") {
  const std::vector<std::string_view> queries{"7", "8"};
  CHECK(random_folds(queries, 2, 1).has_value());
  CHECK(random_folds(queries, 1, 1).error().code == Code::usage);
  CHECK(random_folds(queries, 3, 1).error().code == Code::usage);
  const test::TemporaryFolder folder;
  CHECK(read_folds(folder.write("f", "7 1\n8 2\n"), queries)->count == 2);
  CHECK(read_folds(folder.write("f", "7 1\n8 1\n"), queries).error().text.find("at least two") !=
        std::string::npos);
  CHECK(read_folds(folder.write("f", "7 1000\n8 1\n"), queries).error().text.find("without a gap") !=
        std::string::npos);
  for (const char* bad : {"7 1001\n8 1\n", "7 0\n8 1\n"})
    CHECK(read_folds(folder.write("f", bad), queries).error().text.find(":1: the fold must be") !=
          std::string::npos);
}
