#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "fusion/training/registry.h"
#include "fusion/unsupervised/fusion_method.h"
#include "tests/support/command.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using test::run_metafuse;
using test::TemporaryFolder;

namespace {

/// Two lists of six documents for twelve queries; the first list ranks the relevant document first.
struct JudgedLists {
  TemporaryFolder folder;
  std::vector<std::string> input;

  explicit JudgedLists(int queries = 12) {
    std::string good;
    std::string poor;
    std::string qrels;
    for (int query = 1; query <= queries; ++query) {
      const std::string id = std::to_string(query);
      qrels += id + " 0 d0 1\n";
      for (int rank = 1; rank <= 6; ++rank) {
        const std::string tail = " " + std::to_string(rank) + " " + std::to_string(9 - rank) + " ";
        good += id + " Q0 d" + std::to_string(rank - 1) + tail + "good\n";
        poor += id + " Q0 d" + std::to_string((rank + query) % 6) + tail + "poor\n";
      }
    }
    input = {"--runs", folder.write("good.run", good), folder.write("poor.run", poor), "--qrels",
             folder.write("qrels", qrels)};
  }

  test::CommandResult run(std::vector<std::string> words, const std::vector<std::string>& more = {}) const {
    words.insert(words.end(), input.begin(), input.end());
    words.insert(words.end(), more.begin(), more.end());
    return run_metafuse(words);
  }

  /// out: the learner of the model that training wrote
  std::string trained(const std::vector<std::string>& more) const {
    const auto done = run({"train", "--model", folder.path("m.json")}, more);
    INFO(done.err);
    REQUIRE(done.status == 0);
    const auto model = fusion::read_model(folder.path("m.json"));
    REQUIRE(model.has_value());
    return model->training.contains("auto") ? "auto" : model->learner;
  }
};

}  // namespace

TEST_CASE("Without a named learner auto or the learner of the given options is used", "[cli][auto]") {
  const JudgedLists lists;
  CHECK(lists.trained({}) == "auto");
  CHECK(lists.trained({"--metric", "ndcg_cut_5", "--time-limit", "60"}) == "auto");
  CHECK(lists.trained({"--rounds", "5"}) == "rankboost");
  CHECK(lists.trained({"--rounds", "5", "--bags", "2"}) == "rankboost-bagged");
  CHECK(lists.trained({"--learner", "rankboost"}) == "rankboost");
  const auto refused = lists.run({"train", "--model", lists.folder.path("m.json")},
                                 {"--checkpoint", lists.folder.path("c.json")});
  CHECK(refused.status == 64);
  CHECK(refused.err.find("such as rankboost") != std::string::npos);
}

TEST_CASE("Queries that are trained on do not say when to stop", "[cli][train]") {
  const JudgedLists lists;
  const auto refused =
      lists.run({"train", "--model", lists.folder.path("m.json"), "--validate", lists.folder.path("qrels")});
  CHECK(refused.status == 64);
  CHECK(refused.err.find("--validate: 12 of its 12 queries are trained on, the first is \"1\";") !=
        std::string::npos);
}

TEST_CASE("The verbs model show and crossvalidate and compare-methods show auto's choice", "[cli][auto]") {
  const JudgedLists lists;
  REQUIRE(lists.trained({"--certainty"}) == "auto");
  const auto shown = run_metafuse({"model", "show", lists.folder.path("m.json")});
  CHECK(shown.out.find("auto chose ") != std::string::npos);
  CHECK(shown.out.find("better than RRF with") != std::string::npos);
  const auto crossed = lists.run({"crossvalidate", "--folds", "3"});
  INFO(crossed.err);
  CHECK(crossed.out.find("fold 3: auto chose ") != std::string::npos);
  CHECK(lists.run({"crossvalidate", "--folds", "3", "--json"}).out.find("\"choices\"") != std::string::npos);
  const auto compared = lists.run({"compare-methods", "--folds", "3", "--methods", "rrf"});
  CHECK(compared.err.find("auto chose ") != std::string::npos);
  CHECK(compared.out.find("auto") != std::string::npos);
}

TEST_CASE("The verb train calibrates where enough queries are judged, and refuses what does not fit",
          "[cli][calibration]") {
  const JudgedLists many(24);
  const std::string plot = many.folder.path("plot.svg");
  const auto is_calibrated = [&](const std::vector<std::string>& more) {
    many.trained(more);
    return fusion::read_model(many.folder.path("m.json"))->relevance.has_value();
  };
  CHECK(is_calibrated({}));
  CHECK_FALSE(is_calibrated({"--no-calibrate"}));
  CHECK_FALSE(is_calibrated({"--time-limit", "60"}));
  CHECK_FALSE(is_calibrated({"--learner", "rankboost"}));
  CHECK(is_calibrated({"--learner", "rankboost", "--calibrate", "--reliability-plot", plot}));
  CHECK(read_text(plot, 1 << 20)->starts_with("<svg"));
  const auto shown = run_metafuse({"model", "show", many.folder.path("m.json")});
  CHECK(shown.out.find("relevance: expected calibration error ") != std::string::npos);
  CHECK(shown.out.find("\"bins\"") == std::string::npos);

  const JudgedLists few;
  const auto refused = [](const JudgedLists& lists, const std::vector<std::string>& more) {
    return lists.run({"train", "--model", lists.folder.path("n.json")}, more);
  };
  CHECK(refused(few, {}).status == 0);
  const auto too_few = refused(few, {"--calibrate"});
  CHECK(too_few.status == 65);
  CHECK(too_few.err.find("needs 20 judged queries, and there are 12") != std::string::npos);
  CHECK(refused(many, {"--reliability-plot", plot}).status == 64);
  CHECK(refused(many, {"--no-calibrate", "--reliability-plot", plot}).status == 64);
  CHECK(refused(many, {"--no-calibrate", "--calibrate"}).status == 64);
  CHECK(refused(many, {"--calibrate", "--learner", "rankboost", "--resume", many.folder.path("m.json")})
            .status == 64);
}

TEST_CASE("The command metafuse lists prints what each list adds", "[cli][lists]") {
  const JudgedLists lists;
  const auto table = lists.run({"lists"});
  INFO(table.err);
  CHECK(table.status == 0);
  CHECK(table.out.find("rrf of 2 lists: map") == 0);
  CHECK(lists.run({"lists", "--json"}).out.find("\"only_here\"") != std::string::npos);
  const auto refused = lists.run({"lists", "--measure", "map,P_10"});
  CHECK(refused.status == 64);
  CHECK(refused.err.find("give exactly one measure") != std::string::npos);
}

TEST_CASE("Every method fuses the runs through the verb, after training if it learns", "[cli][fuse]") {
  const JudgedLists lists;
  const std::string& good = lists.input[1];
  const std::string& poor = lists.input[2];
  for (const fusion::FusionMethod& method : fusion::fusion_methods()) {
    INFO(method.name);
    std::vector<std::string> command{"fuse", "--method", method.name, "--runs", good, poor};
    if (method.is_supervised || method.needs_weights) {
      const auto refused = run_metafuse(command);
      CHECK(refused.status == 64);
      CHECK(refused.err.find("--train") != std::string::npos);
      command.insert(command.end(), {"--train", lists.input[4]});
    }
    const auto fused = run_metafuse(command);
    INFO(fused.err);
    CHECK(fused.status == 0);
    // twelve queries of six documents
    CHECK(std::count(fused.out.begin(), fused.out.end(), '\n') == 72);
    command.insert(command.end(), {"--weights", "1,2"});
    CHECK((run_metafuse(command).status == 0) == (method.takes_weights && !method.needs_weights));
  }
}

TEST_CASE("Every learner trains through the verb, and its model fuses the runs", "[cli][train]") {
  const JudgedLists lists;
  const std::string model = lists.folder.path("m.json");
  for (const fusion::Learner& learner : fusion::product_learners()) {
    INFO(learner.name);
    const auto trained = lists.run({"train", "--learner", learner.name, "--model", model});
    INFO(trained.err);
    REQUIRE(trained.status == 0);
    const auto fused = run_metafuse({"fuse", "--model", model, "--runs", lists.input[1], lists.input[2]});
    INFO(fused.err);
    CHECK(fused.status == 0);
    CHECK(std::count(fused.out.begin(), fused.out.end(), '\n') == 72);
  }
}

TEST_CASE("compare-methods counts as relevant what evaluate does in each mode", "[cli][compare-methods]") {
  const JudgedLists lists;
  const auto precision = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--learners", "none", "--methods", "rrf",
                                   "--measures", "map",  "--format",  "csv"};
    words.insert(words.end(), more.begin(), more.end());
    const auto done = lists.run({"compare-methods"}, words);
    INFO(done.err);
    REQUIRE(done.status == 0);
    const auto row = done.out.find("best_run,12,");
    REQUIRE(row != std::string::npos);
    return done.out.substr(row + 12, done.out.find_first_of(",\n", row + 12) - row - 12);
  };
  CHECK(precision({}) == "1");
  CHECK(precision({"--mode", "mslr"}) == "0");  // its relevant grades begin at 2
  CHECK(precision({"--mode", "mslr", "--relevance-level", "1"}) == "1");
}

TEST_CASE("compare-methods refuses an option that no learner has", "[cli][compare-methods]") {
  const auto done = JudgedLists().run(
      {"compare-methods"}, {"--learners", "rankboost", "--methods", "rrf", "--learner-option", "ronds=3"});
  CHECK(done.status == 64);
  CHECK(done.err.find("did you mean rounds") != std::string::npos);
}
