#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/digest.h"
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

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
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

/// The addresses of the results that searches printed, in their order.
std::vector<std::string> found_pages(const std::string& printed) {
  std::vector<std::string> pages;
  std::istringstream lines(printed);
  const std::string base = "\thttps://docs.example/";
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t at = line.find(base); at != std::string::npos)
      pages.push_back(line.substr(at + base.size(), line.find('\t', at + 1) - at - base.size()));
  return pages;
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
  CHECK(std::filesystem::exists(folder.path("my-search/models/sources.json")));
  const auto learned = row_of(done.out, "auto");
  const auto rrf = row_of(done.out, "rrf");
  // "more than three times as many answers come first", and an interval that does not contain 0
  CHECK(learned[0] > 3 * rrf[0]);
  CHECK(learned[6] < rrf[6]);
  const std::string_view label = "95 % interval ";
  const std::size_t interval = done.out.find(label);
  REQUIRE(interval != std::string::npos);
  CHECK(std::stod(done.out.substr(interval + label.size())) > 0);
  // the last two searches: the first page of each source, then pages of the manual alone
  const auto pages = found_pages(done.out);
  REQUIRE(pages.size() >= 8);
  const auto is_of_manual = [](const std::string& page) { return page.find('/') == std::string::npos; };
  CHECK(std::count_if(pages.end() - 8, pages.end() - 4, is_of_manual) == 1);
  CHECK(std::all_of(pages.end() - 4, pages.end(), is_of_manual));
  CHECK(std::find(pages.end() - 4, pages.end(), "operations.md") != pages.end());
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

TEST_CASE("The pictures of the README are of the pages as they are", "[cli][documentation]") {
  // "DIGEST  FILE" per line, as sha256sum writes; scripts/pictures makes the pictures and this file
  std::set<std::string> named;
  const std::string root = METAFUSE_SOURCE_DIR "/";
  const auto read = for_each_line(
      root + "docs/pictures/made-from", [&](std::string_view line, std::size_t) -> Result<void> {
        REQUIRE(line.size() > 66);
        const std::string file(line.substr(66));
        named.insert(file);
        INFO(file << " has changed since the pictures were made; run scripts/pictures and look at them");
        CHECK(sha256_hex(content_of(root + file)) == line.substr(0, 64));
        return {};
      });
  REQUIRE(read.has_value());
  for (const auto& entry : std::filesystem::directory_iterator(root + "service/pages/files"))
    CHECK(named.count("service/pages/files/" + entry.path().filename().string()) == 1);
  const std::string readme = content_of(root + "README.md");
  for (const char* picture : {"docs/pictures/results.png", "docs/pictures/judging.png"}) {
    CHECK(std::filesystem::exists(root + picture));
    CHECK(readme.find(picture) != std::string::npos);
  }
}

TEST_CASE("The scripts named by the pages exist", "[cli][documentation]") {
  for (const char* name : {"scripts/run", "scripts/test", "scripts/setup"})
    CHECK((std::filesystem::status(METAFUSE_SOURCE_DIR + ("/" + std::string(name))).permissions() &
           std::filesystem::perms::owner_exec) != std::filesystem::perms::none);
}
