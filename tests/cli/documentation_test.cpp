#include <filesystem>

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

TEST_CASE("The commands of the tutorial run unchanged and train a model", "[cli][documentation]") {
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
