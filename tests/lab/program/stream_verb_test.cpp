#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "tests/support/command.h"

using metafuse::test::CommandResult;
using metafuse::test::run_command;
using metafuse::test::TemporaryFolder;

namespace {

/// metafuse-lab stream with a file as standard input.
CommandResult stream(const std::string& input, const std::string& options) {
  return run_command(
      {"/bin/sh", "-c", std::string(METAFUSE_LAB_EXECUTABLE) + " stream " + options + " < " + input});
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::string content_of_file(const std::string& path) {
  return *metafuse::read_text(path, std::size_t{1} << 24);
}

std::string lines(int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i)
    text += std::to_string(i % 3) + " qid:" + std::to_string(i / 5) +
            " 1:" + std::to_string(i % 3 + 0.1 * (i % 7)) + " 2:" + std::to_string(i % 5) + " 3:0.5\n";
  return text;
}

}  // namespace

TEST_CASE("The verb stream predicts each line and a resumed stream gives the same bytes", "[cli][online]") {
  const TemporaryFolder folder;
  write(folder.path("whole"), lines(0, 90));
  write(folder.path("first"), lines(0, 40));
  write(folder.path("second"), lines(40, 90));
  const std::string model = folder.path("m.json");
  const std::string parts = folder.path("p.json");
  const auto whole = stream(folder.path("whole"), "--learner oap-bpm --grades 0,1,2 --model " + model);
  const auto first = stream(folder.path("first"), "--learner oap-bpm --grades 0,1,2 --model " + parts);
  const auto second =
      stream(folder.path("second"), "--learner oap-bpm --resume " + parts + " --model " + parts);
  REQUIRE(whole.status == 0);
  REQUIRE(first.status == 0);
  REQUIRE(second.status == 0);
  CHECK(whole.out == first.out + second.out);
  CHECK(content_of_file(model) == content_of_file(parts));
  CHECK(std::count(whole.out.begin(), whole.out.end(), '\n') == 90);
}

TEST_CASE("A malformed stream line is fatal or skipped by option and is named", "[cli][online]") {
  const TemporaryFolder folder;
  write(folder.path("in"), lines(0, 5) + "garbage\n9 qid:1 1:1\n1 qid:1 44:1\n" + lines(5, 9));
  const std::string model = folder.path("m.json");
  const auto fatal = stream(folder.path("in"), "--learner prank --grades 0,1,2 --model " + model);
  CHECK(fatal.status == 65);
  CHECK(fatal.err.find("standard input:6") != std::string::npos);
  CHECK_FALSE(std::ifstream(model).good());
  const auto skipped =
      stream(folder.path("in"), "--learner prank --bad-lines skip --grades 0,1,2 --model " + model);
  CHECK(skipped.status == 0);
  CHECK(skipped.err.find("standard input:7:1: grade 9") != std::string::npos);
  CHECK(skipped.err.find("feature 44") != std::string::npos);
  CHECK(skipped.err.find("3 bad lines skipped") != std::string::npos);
  write(folder.path("clean"), lines(0, 9));
  const std::string other = folder.path("o.json");
  const auto clean = stream(folder.path("clean"), "--learner prank --grades 0,1,2 --model " + other);
  CHECK(skipped.out == clean.out);
  CHECK(content_of_file(model) == content_of_file(other));
}

TEST_CASE("Options that a stream does not support are a usage error", "[cli][online]") {
  const TemporaryFolder folder;
  write(folder.path("in"), lines(0, 9));
  const std::string model = " --model " + folder.path("m.json");
  CHECK(stream(folder.path("in"), "--learner rankboost" + model).status == 64);
  CHECK(stream(folder.path("in"), "--learner prank" + model).status == 64);
  CHECK(stream(folder.path("in"), "--learner prank --grades 0,1,2 --passes 2" + model).status == 64);
  CHECK(stream(folder.path("in"), "--learner prank --grades 0,1,2 --letor x" + model).status == 64);
  REQUIRE(stream(folder.path("in"), "--learner prank --grades 0,1,2" + model).status == 0);
  const std::string resume = " --resume " + folder.path("m.json");
  CHECK(stream(folder.path("in"), "--learner oap-bpm" + resume + model).status == 64);
  CHECK(stream(folder.path("in"), "--learner prank --grades 0,1,2" + resume + model).status == 64);
  CHECK(stream(folder.path("in"), "--learner prank --seed 77" + resume + model).status == 64);
}

TEST_CASE("An option without effect is refused with the option that it belongs to", "[cli][online]") {
  const TemporaryFolder folder;
  const std::string data = folder.path("data");
  write(data, lines(0, 30));
  const auto train = [&](std::vector<std::string> options) {
    options.insert(options.begin(),
                   {METAFUSE_LAB_EXECUTABLE, "train", "--letor", data, "--model", folder.path("m.json")});
    return run_command(options);
  };
  CHECK(train({"--rounds", "3"}).status == 0);
  for (const std::vector<std::string>& alone : {std::vector<std::string>{"--patience", "5"},
                                                {"--metric", "map", "--learner", "rankboost"},
                                                {"--checkpoint-every", "5"},
                                                {"--bad-lines", "skip"},
                                                {"--domain", "d"},
                                                {"--half-life", "3"},
                                                {"--use-held-out"}}) {
    const CommandResult refused = train(alone);
    INFO(alone.front() << ": " << refused.err);
    CHECK(refused.status == 64);
    CHECK(refused.err.find(alone.front()) != std::string::npos);
  }
  const CommandResult own_rule = train({"--learner", "mpboost", "--validate", data, "--patience", "5"});
  CHECK(own_rule.status == 64);
  CHECK(own_rule.err.find("leave out --patience") != std::string::npos);
}
