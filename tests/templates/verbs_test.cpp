// The verbs `expand` and `templates check` of the command line.

#include <catch2/catch.hpp>

#include "tests/support/command.h"
#include "tests/support/temporary_folder.h"

using metafuse::test::run_metafuse;
using metafuse::test::TemporaryFolder;

namespace {

const std::string kMl = METAFUSE_SOURCE_DIR "/config/templates/ml-homepages.yaml";

}  // namespace

TEST_CASE("The verb expand prints one line per template", "[templates][cli]") {
  const auto result = run_metafuse({"expand", "--templates", kMl, "--set", "NAME=Joe Researcher", "--set",
                                    "AFFILIATION=Learning University"});
  CHECK(result.status == 0);
  CHECK(result.err.empty());
  CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 16);
  CHECK(result.out.find("name-must-ml\t+\"Joe Researcher\" +machine +learning\n") != std::string::npos);
  CHECK(result.out.find("name-place\t\"Joe Researcher\" Learning University\n") != std::string::npos);
}

TEST_CASE("The verb expand takes a plain query and writes JSON", "[templates][cli]") {
  const auto result = run_metafuse({"expand", "--templates", kMl, "Joe Researcher", "--json"});
  CHECK(result.status == 0);
  CHECK(result.out.front() == '[');
  CHECK(result.out.find("\"template\":\"name-all\"") != std::string::npos);
  CHECK(result.out.find("+Joe +Researcher") != std::string::npos);
}

TEST_CASE("The verb expand writes the syntax of each engine", "[templates][cli]") {
  const TemporaryFolder folder;
  const std::string templates = folder.write("t.yaml",
                                             "version: 1\ndomain: d\nslots: {Q: {required: true}}\n"
                                             "templates: [{id: a, engine: [x, y], query: '{Q|all}'}]\n");
  const std::string engines =
      folder.write("e.yaml",
                   "engines:\n  - {name: x, engine: local, database: x.db}\n"
                   "  - {name: y, engine: local, database: x.db, query_syntax: lucene}\n");
  CHECK(run_metafuse({"expand", "--templates", templates, "a b"}).out == "a\t+a +b\n");
  const auto result = run_metafuse({"expand", "--templates", templates, "a b", "--engines", engines});
  CHECK(result.err.empty());
  CHECK(result.out == "a@x\t(a AND b)\na@y\t+a +b\n");
}

TEST_CASE("Errors of the verb expand have their exit status", "[templates][cli]") {
  CHECK(run_metafuse({"expand", "--templates", kMl}).status == 64);
  CHECK(run_metafuse({"expand", "--templates", kMl, "--set", "NMAE=x"}).status == 64);
  CHECK(run_metafuse({"expand", "--templates", kMl, "--set", "NAME"}).status == 64);
  CHECK(run_metafuse({"expand", "--templates", kMl, "--set", "NAME=a", "--set", "NAME=b"}).status == 64);
  CHECK(run_metafuse({"expand", "--templates", "/absent.yaml", "a"}).status == 66);
}

TEST_CASE("The verb templates check names every mistake of every file", "[templates][cli]") {
  const TemporaryFolder folder;
  const std::string first = folder.write("a.yaml", "version: 1\ndomain: A\nslots: {}\ntemplates: []\n");
  const std::string second = folder.write("b.yaml", "version: 1\n");
  const auto result = run_metafuse({"templates", "check", first, kMl, second});
  CHECK(result.status == 78);
  CHECK(result.err.find("metafuse: " + first + ":2:9: ") != std::string::npos);
  CHECK(result.err.find("metafuse: " + first + ":3:8: ") != std::string::npos);
  CHECK(result.err.find("metafuse: " + second + ":1:1: ") != std::string::npos);
  CHECK(result.out.find(kMl + ": domain ml-homepages, 2 slots, 16 templates, 16 ranking features") !=
        std::string::npos);
  CHECK(run_metafuse({"templates", "check", kMl}).status == 0);
}
