#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/documented_commands.h"

using namespace metafuse;
using test::TemporaryFolder;

namespace {

/// The files that the examples of the pages use: the repository's documents and configuration, and three
/// judged runs.
void fill_reading_folder(const TemporaryFolder& folder) {
  for (const char* name : {"docs", "config", "demo"})
    std::filesystem::copy(METAFUSE_SOURCE_DIR + ("/" + std::string(name)), folder.path(name),
                          std::filesystem::copy_options::recursive);
  std::string runs[3];
  std::string qrels;
  for (int query = 1; query <= 12; ++query) {
    const std::string id = std::to_string(query);
    qrels += id + " 0 d" + std::to_string(query % 5) + " 1\n" + id + " 0 d7 0\n";
    for (int run = 0; run < 3; ++run)
      for (int rank = 1; rank <= 10; ++rank)
        runs[run] += id + " Q0 d" + std::to_string((query * (run + 1) + rank * 3) % 10) + " " +
                     std::to_string(rank) + " " + std::to_string(11 - rank) + " r" + std::to_string(run) +
                     "\n";
  }
  for (int run = 0; run < 3; ++run)
    folder.write(std::string(1, static_cast<char>('a' + run)) + ".run", runs[run]);
  folder.write("qrels", qrels);
}

void check_page(const std::string& commands, const TemporaryFolder& folder) {
  const auto done = test::run_documented(commands, folder);
  INFO(commands << "\n--- printed:\n" << done.out << "\n--- and on standard error:\n" << done.err);
  CHECK(done.status == 0);
}

}  // namespace

namespace {

/// The numbers of a method's row of crossvalidate's table.
std::vector<double> row_of(const std::string& printed, const std::string& method) {
  const std::size_t at = printed.find("\n" + method + " ");
  REQUIRE(at != std::string::npos);
  std::istringstream line(
      printed.substr(at + 1 + method.size(), printed.find('\n', at + 1) - at - 1 - method.size()));
  std::vector<double> numbers;
  for (double number = 0; line >> number;) numbers.push_back(number);
  REQUIRE(numbers.size() == 7);
  return numbers;
}

/// The ranks of a page in the searches that were printed, in their order.
std::vector<int> ranks_of(const std::string& printed, const std::string& page) {
  std::vector<int> ranks;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);)
    if (line.find("\thttps://docs.example/" + page + "\t") != std::string::npos)
      ranks.push_back(std::stoi(line));
  return ranks;
}

}  // namespace

TEST_CASE("The commands of the tutorial run unchanged and what it says about them is true",
          "[cli][documentation]") {
  const TemporaryFolder folder;
  fill_reading_folder(folder);
  std::string commands;
  for (const std::string& block : test::shell_blocks(METAFUSE_SOURCE_DIR "/docs/tutorial.md"))
    commands += block;
  const auto done = test::run_documented(commands, folder);
  INFO(done.out << "\n--- and on standard error:\n" << done.err);
  REQUIRE(done.status == 0);
  CHECK(done.out.find("evaluation.md\"") != std::string::npos);
  CHECK(std::filesystem::exists(folder.path("my-search/models/documents.json")));
  const auto learned = row_of(done.out, "auto");
  const auto rrf = row_of(done.out, "rrf");
  // level: neither is ahead by more than the printed interval allows
  CHECK(std::abs(learned[0] - rrf[0]) <= 8);
  CHECK(std::abs(learned[6] - rrf[6]) <= 0.5);
  CHECK(done.out.find("95 % interval") != std::string::npos);
  const auto ranks = ranks_of(done.out, "feedback.md");  // before and after training
  REQUIRE(ranks.size() >= 2);
  CHECK(ranks.front() <= 5);
  CHECK(ranks.back() <= 5);
}

TEST_CASE("Every example of the README runs", "[cli][documentation]") {
  const auto blocks = test::shell_blocks(METAFUSE_SOURCE_DIR "/README.md");
  CHECK(blocks.size() >= 3);
  for (const std::string& block : blocks) {
    const TemporaryFolder folder;
    fill_reading_folder(folder);
    check_page(block, folder);
  }
}

TEST_CASE("The scripts named by the pages exist", "[cli][documentation]") {
  for (const char* name : {"scripts/run", "scripts/test", "scripts/setup"})
    CHECK((std::filesystem::status(METAFUSE_SOURCE_DIR + ("/" + std::string(name))).permissions() &
           std::filesystem::perms::owner_exec) != std::filesystem::perms::none);
}
