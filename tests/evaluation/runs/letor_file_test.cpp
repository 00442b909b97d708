#include "evaluation/runs/letor_file.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::evaluation;

namespace {

struct Row {
  double grade;
  std::string query;
  std::string document;
  std::vector<LetorCell> cells;
  std::size_t line;
};

Result<std::vector<Row>> rows_of(const test::TemporaryFolder& folder, std::string_view text,
                                 bool values_are_ranks = false) {
  std::vector<Row> rows;
  auto read =
      for_each_letor_row(folder.write("l", text), values_are_ranks, [&](const LetorRow& row) -> Result<void> {
        rows.push_back({row.grade,
                        std::string(row.query),
                        std::string(row.document),
                        {row.cells.begin(), row.cells.end()},
                        row.line});
        return {};
      });
  if (!read) return read.error();
  return rows;
}

}  // namespace

TEST_CASE("LETOR rows give grade and query and cells and the document of the comment",
          "[evaluation][letor]") {
  const test::TemporaryFolder folder;
  const auto rows = rows_of(folder,
                            "\xef\xbb\xbf# header\r\n"
                            "2 qid:10 1:0.5 3:NULL 7:-1e-3 #docid = GX-1 inc = 1 prob = 0.5\r\n"
                            "\n"
                            "0.5 qid:x\t2:4 # D2\n"
                            "0 qid:10");
  REQUIRE(rows.has_value());
  REQUIRE(rows->size() == 3);
  CHECK((*rows)[0].cells == std::vector<LetorCell>{{1, false, 0.5}, {3, true, 0.0}, {7, false, -1e-3}});
  CHECK((*rows)[0].document == "GX-1");
  CHECK((*rows)[0].line == 2);
  CHECK((*rows)[1].grade == 0.5);
  CHECK((*rows)[1].query == "x");
  CHECK((*rows)[1].document == "D2");
  CHECK((*rows)[2].cells.empty());
  CHECK((*rows)[2].document.empty());
}

TEST_CASE("Cells of every length are read back unchanged", "[evaluation][letor]") {
  const test::TemporaryFolder folder;
  Random random(11);
  std::string text;
  std::vector<std::vector<LetorCell>> written;
  const char* const blanks[] = {" ", "  ", "\t", " \t "};
  for (int line = 0; line < 3000; ++line) {
    text += "1 qid:" + std::to_string(line / 7);
    std::vector<LetorCell> cells;
    std::uint32_t index = 0;
    for (std::uint64_t left = random.below(9); left > 0; --left) {
      index += 1 + static_cast<std::uint32_t>(random.below(random.below(4) == 0 ? 900 : 20));
      const auto number = random.below(random.below(3) == 0 ? 20'000 : 40);
      const std::string value =
          random.below(9) == 0 ? "NULL" : std::to_string(number) + (number % 5 == 0 ? ".5" : "");
      text += blanks[random.below(4)] + (random.below(50) == 0 ? "00" : std::string()) +
              std::to_string(index) + ':' + value;
      if (value == "NULL")
        cells.push_back({index, true, 0.0});
      else
        cells.push_back({index, false, static_cast<double>(number) + (number % 5 == 0 ? 0.5 : 0.0)});
    }
    text += random.below(3) == 0   ? " # d" + std::to_string(line) + "\n"
            : random.below(2) == 0 ? "\r\n"
                                   : "\n";
    written.push_back(cells);
  }
  while (text.back() <= ' ') text.pop_back();  // the file ends with its last cell
  const auto rows = rows_of(folder, text);
  REQUIRE(rows.has_value());
  REQUIRE(rows->size() == written.size());
  for (std::size_t i = 0; i < written.size(); ++i) {
    CHECK((*rows)[i].cells == written[i]);
    CHECK((*rows)[i].query == std::to_string(i / 7));
  }
}

TEST_CASE("Malformed short cells are refused", "[evaluation][letor]") {
  const test::TemporaryFolder folder;
  for (const char* cells : {"1:1 2:2 2:3 4:4", "1:1 0:2 3:3", "1:1 2x:2 3:3", "1:1 2:: 3:3", "1:1 2:/ 3:3",
                            "1:1 :2 3:3", "1:1 2: 3:3", "1:1 2:2\x01 3:3", "1:1 3:3 2:2 4:4"})
    CHECK_FALSE(rows_of(folder, std::string("1 qid:1 1:1 # d\n1 qid:1 ") + cells + " # e\n").has_value());
  CHECK_FALSE(rows_of(folder, "1 qid:1 1:1 2:0 3:3 # d\n", true).has_value());
  CHECK(rows_of(folder, "1 qid:1 1:1 2:0 3:3 # d\n").has_value());
}

TEST_CASE("Numbers of hashed features are read, and refused where columns are kept for them",
          "[evaluation][letor]") {
  const test::TemporaryFolder folder;
  CHECK(rows_of(folder, "1 qid:1 1:1 16777216:1\n").has_value());
  CHECK_FALSE(rows_of(folder, "1 qid:1 1:1 16777217:1\n").has_value());
  LetorCell cell{65536, false, 1.0};
  LetorRow row;
  CHECK(check_trained_features("f", row).has_value());
  row.cells = std::span(&cell, 1);
  row.line = 7;
  CHECK(check_trained_features("f", row).has_value());
  ++cell.index;
  CHECK(check_trained_features("f", row).error().text ==
        "f:7: feature 65537, and training takes up to 65536; number the features anew");
}

TEST_CASE("A mistake in a LETOR file is one error with file and line", "[evaluation][letor]") {
  const test::TemporaryFolder folder;
  const auto says = [&](std::string_view text, const std::string& want, bool ranks = false) {
    const auto read = rows_of(folder, text, ranks);
    REQUIRE(read.has_error());
    INFO(read.error().text);
    CHECK(read.error().code == Code::bad_data);
    CHECK(read.error().text.find(want) != std::string::npos);
  };
  says("", "contains no rows");
  says("x qid:1 1:1\n", ":1: the grade \"x\"");
  says("1x qid:1 1:1\n", ":1: the grade \"1x\"");
  says("nan qid:1 1:1\n", ":1: the grade \"nan\"");
  says("1 qid:1 1:1\n1 1:1\n", ":2: the second column is \"1:1\"");
  says("1 qid: 1:1\n", ":1: the second column");
  says("1 qid:1 0:1\n", ":1: the column \"0:1\"");
  says("1 qid:1 99999999999:1\n", ":1: the column");
  says("1 qid:1 2:1 1:1\n", ":1: feature 1 comes after feature 2");
  says("1 qid:1 2:1 2:1\n", ":1: feature 2 comes after feature 2");
  says("1 qid:1 1:inf\n", "not finite");
  says("1 qid:1 1:NULLX\n", "neither a number nor NULL");
  says("1 qid:1 1:\n", "neither a number nor NULL");
  says("1 qid:1 1:-3\n", "not a whole number of at least 1", true);
  says("1 qid:1 1:1.5\n", "not a whole number of at least 1", true);
  says(std::string_view("1 qid:1\0 1:1\n", 13), "control byte");
}
