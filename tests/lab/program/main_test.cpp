#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "lab/registry.h"
#include "tests/support/command.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using test::run_command;
using test::run_metafuse;

namespace {

test::CommandResult run_lab(std::vector<std::string> words) {
  words.insert(words.begin(), METAFUSE_LAB_EXECUTABLE);
  return run_command(words);
}

std::vector<std::string> training(const test::TemporaryFolder& folder, const std::string& learner) {
  std::string rows;
  for (int query = 1; query <= 6; ++query)
    for (int rank = 1; rank <= 4; ++rank)
      rows += std::to_string(rank == 1 ? 1 : 0) + " qid:" + std::to_string(query) +
              " 1:" + std::to_string(rank) + " 2:" + std::to_string((rank + query) % 4 + 1) + "\n";
  return {"train", "--letor-ranks", folder.write("rows.txt", rows), "--learner",
          learner, "--model",       folder.path("m.json")};
}

}  // namespace

TEST_CASE("The product knows by name exactly the learners that only the laboratory has", "[lab]") {
  std::set<std::string_view> more;
  for (const fusion::Learner& learner : metafuse::lab::learners())
    if (fusion::find_learner(learner.name) == nullptr) more.insert(learner.name);
  const auto named = fusion::laboratory_learners();
  CHECK(more == std::set<std::string_view>(named.begin(), named.end()));
  for (const fusion::Learner& learner : fusion::product_learners())
    CHECK(metafuse::lab::find_learner(learner.name) != nullptr);
}

TEST_CASE("The product says where a learner of the laboratory is, and reads what it trained", "[lab][cli]") {
  const test::TemporaryFolder folder;
  const auto refused = run_metafuse(training(folder, "mpboost"));
  CHECK(refused.status == 64);
  CHECK(refused.err.find("metafuse: the learner mpboost is in the program metafuse-lab") == 0);
  for (const std::string_view name : fusion::laboratory_learners()) {
    if (name == "calibrated-adaboost") continue;  // needs more judgments than these
    INFO(name);
    const auto trained = run_lab(training(folder, std::string(name)));
    INFO(trained.err);
    REQUIRE(trained.status == 0);
    const auto score =
        run_metafuse({"score", "--model", folder.path("m.json"), "--letor-ranks", folder.path("rows.txt")});
    const auto same =
        run_lab({"score", "--model", folder.path("m.json"), "--letor-ranks", folder.path("rows.txt")});
    CHECK(score.status == 0);
    CHECK(score.out == same.out);
    CHECK(run_metafuse({"model", "show", folder.path("m.json")}).out.find("learner   " + std::string(name)) ==
          0);
  }
}

TEST_CASE("The product names the laboratory's verbs", "[lab][cli]") {
  for (const char* verb : {"experiment", "stream"}) {
    const auto refused = run_metafuse({verb, "list"});
    CHECK(refused.status == 64);
    CHECK(refused.err == std::string("metafuse: ") + verb +
                             " is a verb of the program metafuse-lab; see metafuse-lab " + verb +
                             " --help\n");
  }
  CHECK(run_lab({"experiment", "list"}).out.find("movies\t") != std::string::npos);
  CHECK(run_lab({"train", "--help"}).out.find("  metafuse-lab train --runs a.run") != std::string::npos);
}

TEST_CASE("A full run is refused by an experiment without larger counts", "[lab][cli]") {
  const test::TemporaryFolder folder;
  const auto refused = run_lab({"experiment", "online", "--full", "--data", folder.path("nothing")});
  CHECK(refused.status == 64);
  CHECK(refused.err.find("leave out --full") != std::string::npos);
  CHECK(run_lab({"experiment", "movies", "--full", "--data", folder.path("nothing")}).status == 66);
}

TEST_CASE("The laboratory's manual and completions are its own", "[lab][cli]") {
  const test::TemporaryFolder folder;
  REQUIRE(run_lab({"manual", folder.path("man")}).status == 0);
  const auto first = read_text(folder.path("man/man1/metafuse-lab.1"), 1'000'000);
  REQUIRE(first.has_value());
  CHECK(first->find("metafuse\\-lab\\-experiment") != std::string::npos);
  CHECK(first->find("metafuse.yaml") == std::string::npos);
  CHECK(read_text(folder.path("man/man7/metafuse-lab-learners.7"), 1'000'000)->find("oap\\-bpm") !=
        std::string::npos);
  const auto bash = run_lab({"completion", "bash"}).out;
  CHECK(bash.find("complete -o default -F _metafuse_lab metafuse-lab") != std::string::npos);
  CHECK(bash.find("weak-learners") != std::string::npos);
}
