#include "evaluation/runs/judgments.h"

#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::evaluation;

TEST_CASE("Judgments are sorted by topic and document", "[evaluation][judgments]") {
  const test::TemporaryFolder folder;
  const auto judgments =
      read_qrels(folder.write("q", "\xef\xbb\xbf# a comment\r\n2 0 b 1\r\n1 0 z -1\n2 0 a 3\n\n1 Q0 y 0"));
  REQUIRE(judgments.has_value());
  REQUIRE(judgments->queries.size() == 2);
  CHECK(judgments->queries[0].query == "1");
  CHECK(judgments->queries[0].documents[1].grade == -1);
  CHECK(judgments->find("2")->find("a")->grade == 3);
  CHECK(judgments->find("2")->find("c") == nullptr);
  CHECK(judgments->find("3") == nullptr);
}

TEST_CASE("A mistake in a qrels file is one error with file and line", "[evaluation][judgments]") {
  const test::TemporaryFolder folder;
  const auto says = [&](std::string_view text, const std::string& want) {
    const auto read = read_qrels(folder.write("q", text));
    REQUIRE(read.has_error());
    INFO(read.error().text);
    CHECK(read.error().code == Code::bad_data);
    CHECK(read.error().text.find(want) != std::string::npos);
  };
  says("", "contains no lines");
  says("# only a comment\n", "contains no lines");
  says("1 0 a\n", ":1: too few columns");
  says("1 0 a 1\n1 0 b 1 2\n", ":2: too many columns");
  says("1 0 a 1\n1 0 b nan\n", ":2: the grade \"nan\" is not a whole number");
  says("1 0 a 1\n1 0 b 99999999999\n", ":2: the grade");
  says("1 0 b 1\n1 0 a 1\n1 0 b 0\n",
       ":3: the document \"b\" is judged twice in topic \"1\", first in line 1");
  says(std::string_view("\0\0\0\0", 4), ":1: a control byte");
}
