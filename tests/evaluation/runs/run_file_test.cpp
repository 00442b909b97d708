#include "evaluation/runs/run_file.h"

#include <filesystem>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::evaluation;

namespace {

Run run_of(const test::TemporaryFolder& folder, std::string_view text, const RunFileOptions& options = {}) {
  auto run = read_run(folder.write("a.run", text), options);
  INFO((run.has_error() ? run.error().text : ""));
  REQUIRE(run.has_value());
  return *run;
}

std::string error_of(const test::TemporaryFolder& folder, std::string_view text) {
  auto run = read_run(folder.write("bad.run", text));
  REQUIRE(run.has_error());
  CHECK(run.error().code == Code::bad_data);
  return run.error().text;
}

std::vector<std::string> documents_of(const RunTopic& topic) {
  std::vector<std::string> out;
  for (const RunEntry& entry : topic.entries) out.emplace_back(entry.document);
  return out;
}

}  // namespace

TEST_CASE("A run is sorted by score and then by the rank column and then by id", "[evaluation][run]") {
  const test::TemporaryFolder folder;
  const Run run = run_of(folder,
                         "2 Q0 z 1 0.5 mine\n"
                         "1 Q0 c 9 1.0 mine\n"
                         "1 Q0 b 3 1.0 mine\n"
                         "1 Q0 a 3 1.0 mine\n"
                         "1 Q0 d 4 2e0 mine\n"
                         "10 Q0 d 0 -3 mine\n");
  CHECK(run.path == folder.path("a.run"));
  CHECK(run.name == "mine");
  REQUIRE(run.topics.size() == 3);
  CHECK(run.topics[0].topic == "1");
  CHECK(run.topics[1].topic == "10");
  CHECK(run.topics[2].topic == "2");
  CHECK(documents_of(run.topics[0]) == std::vector<std::string>{"d", "a", "b", "c"});
  CHECK(run.find("10")->entries[0].score == -3.0);
  CHECK(run.find("3") == nullptr);
}

TEST_CASE("A run is read the same for any order of its lines", "[evaluation][run]") {
  const test::TemporaryFolder folder;
  std::vector<std::string> lines;
  for (int i = 0; i < 400; ++i)
    lines.push_back(std::to_string(i % 7) + " Q0 D" + std::to_string(i) + " " + std::to_string(i % 5) + " " +
                    std::to_string(i % 11) + ".25 t\n");
  Random random(7);
  std::vector<std::vector<std::string>> first;
  for (int trial = 0; trial < 5; ++trial) {
    std::string text;
    for (const std::string& line : lines) text += line;
    const Run run = run_of(folder, text);
    std::vector<std::vector<std::string>> lists;
    for (const RunTopic& topic : run.topics) lists.push_back(documents_of(topic));
    if (trial == 0) first = lists;
    CHECK(lists == first);
    random.shuffle(lines);
  }
}

TEST_CASE("A BOM and CRLF and tabs and blank lines are accepted in a run", "[evaluation][run]") {
  const test::TemporaryFolder folder;
  const Run run = run_of(folder, "\xef\xbb\xbf 1\tQ0\ta\t1\t2.5 \tt\r\n\r\n1 Q0 b 2 1.5 t");
  REQUIRE(run.topics.size() == 1);
  CHECK(documents_of(run.topics[0]) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("A run with only a comment has no topics and is named after its file", "[evaluation][run]") {
  const test::TemporaryFolder folder;
  const auto run = read_run(folder.write("plain@one.run", "# nothing was found\n"));
  REQUIRE(run.has_value());
  CHECK(run->name == "plain@one");
  CHECK(run->topics.empty());
  CHECK(read_run("other=" + folder.path("plain@one.run"))->name == "other");
  CHECK(read_run(folder.write("b.run", "# a comment\n1 Q0 a 1 2.5 t\n"))->name == "t");
}

TEST_CASE("A run without lines is a list that found nothing where the reader allows it",
          "[evaluation][run]") {
  const test::TemporaryFolder folder;
  const auto run = read_run(folder.write("phrase@local.run", ""), {.may_be_empty = true});
  REQUIRE(run.has_value());
  CHECK(run->name == "phrase@local");
  CHECK(run->topics.empty());
  CHECK(read_run("other=" + folder.write("blank.run", "\n\n"), {.may_be_empty = true})->name == "other");
}

TEST_CASE("A mistake in a run is one error with file and line", "[evaluation][run]") {
  const test::TemporaryFolder folder;
  const std::string good = "1 Q0 a 1 2.5 t\n";
  const auto says = [&](const std::string& text, const std::string& want) {
    const std::string error = error_of(folder, text);
    INFO(error);
    CHECK(error.find(want) != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
  };
  says("", "contains no lines");
  says("\n\n", "contains no lines");
  says(good + "1 Q0 b 2 t\n", ":2: too few columns");
  says(good + "1 Q0 b c 2 1.0 t\n", ":2: the rank \"c\"");
  says(good + "1 Q0 b 2 1.0 t u\n", ":2: too many columns");
  says(good + "1 Q0 b 2 1.0 u\n", ":2: the tag \"u\"");
  says(good + "1 Q0 a 2 1.0 t\n", ":2: the document \"a\" occurs twice in topic \"1\", first in line 1");
  says(good + "1 Q0 b -2 1.0 t\n", ":2: the rank \"-2\" is negative");
  says(good + "1 Q0 b 2 nan t\n", ":2: the score \"nan\" is not finite");
  says(good + "1 Q0 b 2 1e999 t\n", ":2: the score \"1e999\" is not finite");
  says(good + "1 Q0 b 2 1.0x t\n", ":2: the score \"1.0x\" is not a number");
  says(good + std::string("1 Q0 b\0c 2 1 t\n", 15), ":2: too few columns or a control byte");
  says(std::string("\x7f\x45\x4c\x46\x02\x01\0\0\0\0", 10), "control byte");
  CHECK(read_run(folder.path("absent")).error().code == Code::no_input);
}

TEST_CASE("Lenient reading of a run ignores the same as trec_eval", "[evaluation][run]") {
  const test::TemporaryFolder folder;
  const Run run = run_of(folder, "1 Q0 a 1 2.5 t junk at the end\n1 Q0 b 2 1 other\n", {.is_lenient = true});
  CHECK(run.name == "t");
  CHECK(run.topics[0].entries.size() == 2);
}

TEST_CASE("Runs are named by their tags or by NAME=FILE and names are unique", "[evaluation][run]") {
  const test::TemporaryFolder folder;
  const std::string a = folder.write("a.run", "1 Q0 a 1 2.5 t\n");
  const std::string b = folder.write("b=c.run", "1 Q0 a 1 2.5 t\n");
  const std::vector<std::string> named = {a, "other=" + b};
  const auto runs = read_runs(named, {}, 2);
  REQUIRE(runs.has_value());
  CHECK((*runs)[0].name == "t");
  CHECK((*runs)[1].name == "other");
  // a file of that very name is read, although its name looks like NAME=FILE
  {
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    const std::vector<std::string> exact = {"b=c.run"};
    const auto found = read_runs(exact);
    std::filesystem::current_path(before);
    REQUIRE(found.has_value());
    CHECK((*found)[0].name == "t");
  }
  const std::vector<std::string> twice = {a, b};
  CHECK(read_runs(twice).error().code == Code::usage);
}

TEST_CASE("Ranks may begin at zero and have any number of digits", "[evaluation][run]") {
  const test::TemporaryFolder folder;
  const Run run =
      run_of(folder, "1 Q0 b 0000000001 1 t\n1 Q0 a 0 1 t\n1 Q0 c 9999999999 1 t\n1 Q0 d 999999999 1 t\n");
  CHECK(documents_of(run.topics.at(0)) == std::vector<std::string>{"a", "b", "d", "c"});
  CHECK(error_of(folder, "1 Q0 a -1 1 t\n").find("is negative") != std::string::npos);
}
