// Training input that RankBoost cannot learn from: bad files, and queries without a crucial pair.

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "fusion/input/input_files.h"
#include "tests/support/command.h"
#include "tests/support/temporary_folder.h"

namespace {

using namespace metafuse;

}  // namespace

TEST_CASE("Training inputs that cannot be learned from are refused with file and reason",
          "[fusion][rankboost]") {
  const test::TemporaryFolder folder;
  const auto refused = [&](const std::string& letor, const std::string& pairs, const std::string& reason) {
    fusion::TrainingInput input;
    input.letor = {folder.write("t.txt", letor)};
    if (!pairs.empty()) input.pairs = folder.write("p.txt", pairs);
    const auto set = fusion::read_training_set(input);
    REQUIRE_FALSE(set.has_value());
    INFO(set.error().text);
    REQUIRE(set.error().code == Code::bad_data);
    REQUIRE(set.error().text.find(reason) != std::string::npos);
  };
  const std::string good = "1 qid:1 1:1 #docid = a\n0 qid:1 1:2 #docid = b\n";
  refused("1 qid:1 1:inf #docid = a\n", "", "t.txt:1");
  refused("1 qid:1 1:nan #docid = a\n", "", "t.txt:1");
  refused("", "", "t.txt");
  refused("1 qid:1 1:1 #docid = a\n0 qid:1 1:2 #docid = a\n", "",
          "t.txt:2: query \"1\": the document \"a\" occurs twice");
  refused(good, "1 b c 1\n", "p.txt:1");
  refused(good, "2 b a 1\n", "p.txt:1");
  refused(good, "1 b a -1\n", "p.txt:1");
  refused(good, "1 b a 0\n", "p.txt:1");
  refused(good, "1 b a nan\n", "p.txt:1");
  refused(good, "1 a a 1\n", "p.txt:1");
  refused(good, "1 b a\n", "p.txt:1");
  refused(good, "# none\n", "p.txt: contains no pairs");
}

TEST_CASE("Queries without crucial pairs are skipped and counted", "[fusion][rankboost]") {
  const test::TemporaryFolder folder;
  const auto train = [&](const std::string& letor, const std::vector<std::string>& options) {
    folder.write("t.txt", letor);
    std::vector<std::string> arguments{
        "train", "--learner", "rankboost", "--letor", folder.path("t.txt"), "--model", folder.path("m.json")};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return test::run_metafuse(arguments);
  };
  const std::string pair = "1 qid:1 1:2 #docid = a\n0 qid:1 1:1 #docid = b\n";
  const auto some =
      train(pair + "1 qid:2 1:1 #docid = a\n0 qid:3 1:1 #docid = a\n0 qid:3 1:2 #docid = b\n", {});
  REQUIRE(some.status == 0);
  REQUIRE(some.err.find("2 queries without a crucial pair") != std::string::npos);
  const auto none = train("1 qid:1 1:2 #docid = a\n1 qid:1 1:1 #docid = b\n", {});
  REQUIRE(none.status == 65);
  REQUIRE(none.err.find("crucial pair") != std::string::npos);
  const auto constant = train("1 qid:1 1:2 #docid = a\n0 qid:1 1:2 #docid = b\n", {});
  REQUIRE(constant.status == 0);
  REQUIRE(constant.err.find("0 rounds") != std::string::npos);
  REQUIRE(train(pair, {"--rounds", "0"}).status == 0);
  REQUIRE(train(pair, {"--rounds", "many"}).status == 64);
  REQUIRE(train(pair, {"--weak-learner", "4"}).status == 64);
  REQUIRE(train("1 qid:1 65536:2 #docid = a\n0 qid:1 1:1 #docid = b\n", {}).status == 0);
}

TEST_CASE("A feature whose range overflows does not disturb the others", "[fusion][rankboost]") {
  const test::TemporaryFolder folder;
  folder.write("t.txt",
               "1 qid:1 1:2 2:1e308 #docid = a\n0 qid:1 1:1 2:-1e308 #docid = b\n"
               "1 qid:2 1:2 2:-1e308 #docid = a\n0 qid:2 1:1 2:1e308 #docid = b\n");
  const auto trained =
      test::run_metafuse({"train", "--learner", "rankboost", "--weak-ranking", "value", "--rounds", "3",
                          "--letor", folder.path("t.txt"), "--model", folder.path("m.json")});
  INFO(trained.err);
  REQUIRE(trained.status == 0);
  REQUIRE(trained.err.find("ranking loss 0,") != std::string::npos);
}
