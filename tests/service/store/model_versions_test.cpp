#include "service/store/model_versions.h"

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "core/text_file.h"
#include "fusion/model/sum_ranker.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;

namespace {

fusion::Model model_of(double alpha) {
  fusion::Model model;
  model.learner = "rankboost";
  model.features = {{"a@e1", fusion::FeatureKind::rank, 30}};
  model.ranker = std::make_shared<fusion::SumRanker>(std::vector<fusion::WeakRanking>{{0, -3.0, 0.0, alpha}},
                                                     model.features);
  return model;
}

std::string add_version(ModelVersions& versions, double alpha, UnixTime at = 1) {
  auto version = versions.add_challenger("shoes", model_of(alpha), "retrain", at);
  REQUIRE(version.has_value());
  return *version;
}

ModelState state_of(ModelVersions& versions) {
  auto state = versions.state("shoes");
  REQUIRE(state.has_value());
  return *state;
}

}  // namespace

TEST_CASE("A challenger becomes champion and can be reverted in one step", "[service][models]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  ModelVersions versions(folder.path());
  CHECK(state_of(versions).champion.empty());
  const std::string first = add_version(versions, 1);
  CHECK(state_of(versions).challenger == first);
  CHECK_FALSE(std::filesystem::exists(folder.path("shoes.json")));

  REQUIRE(versions.activate("shoes", first).has_value());
  CHECK(*read_text(folder.path("shoes.json"), 1 << 20) == fusion::model_text(model_of(1)));
  CHECK(state_of(versions).champion == first);
  CHECK(state_of(versions).challenger.empty());

  const std::string second = add_version(versions, 2);
  CHECK(state_of(versions).challenger == second);
  CHECK(*versions.count_test("shoes", "one") == 1);
  CHECK(*versions.count_test("shoes", "one") == 1);  // the same test again
  CHECK(*versions.count_test("shoes", "two") == 2);
  REQUIRE(versions.activate("shoes", second).has_value());
  CHECK(state_of(versions).tests == 0);
  CHECK(state_of(versions).champion == second);
  REQUIRE(versions.revert("shoes").has_value());
  CHECK(state_of(versions).champion == first);
  CHECK(*read_text(folder.path("shoes.json"), 1 << 20) == fusion::model_text(model_of(1)));
  CHECK(state_of(versions).is_promotion_paused);
  REQUIRE(versions.activate("shoes", second).has_value());
  CHECK_FALSE(state_of(versions).is_promotion_paused);  // somebody decided again
  REQUIRE(versions.revert("shoes", false).has_value());
  CHECK_FALSE(state_of(versions).is_promotion_paused);
  // Before the first champion there was no model.
  REQUIRE(versions.revert("shoes").has_value());
  CHECK(state_of(versions).champion.empty());
  CHECK_FALSE(std::filesystem::exists(folder.path("shoes.json")));
  CHECK(versions.revert("shoes").error().code == Code::usage);
  CHECK(state_of(versions).versions.size() == 2);
  // The state is still there for the next process.
  ModelVersions again(folder.path());
  CHECK(state_of(again).versions == state_of(versions).versions);
  CHECK(again.read("shoes", second).has_value());
}

TEST_CASE("A model file placed by hand becomes a version that can be restored", "[service][models]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  ModelVersions versions(folder.path());
  folder.write("shoes.json", fusion::model_text(model_of(5)));
  const std::string by_hand = state_of(versions).champion;
  CHECK(by_hand.size() == 12);
  const std::string next = add_version(versions, 6);
  REQUIRE(versions.activate("shoes", next).has_value());
  REQUIRE(versions.revert("shoes").has_value());
  CHECK(state_of(versions).champion == by_hand);
  CHECK(add_version(versions, 5) == by_hand);
  CHECK(state_of(versions).challenger.empty());
}

TEST_CASE("Old versions are removed except those in use", "[service][models]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  ModelVersions versions(folder.path());
  const std::string first = add_version(versions, 0.5);
  REQUIRE(versions.activate("shoes", first).has_value());
  REQUIRE(versions.activate("shoes", add_version(versions, 0.75)).has_value());
  std::string last;
  for (int i = 1; i <= 70; ++i) last = add_version(versions, i);
  const ModelState state = state_of(versions);
  CHECK(state.versions.size() == ModelVersions::kMaxVersions);
  CHECK(state.challenger == last);
  for (const ModelVersion& version : state.versions) CHECK(version.origin == "retrain");  // also the champion
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(folder.path("versions/shoes")))
    ++files;
  CHECK(files == ModelVersions::kMaxVersions + 1);
  REQUIRE(versions.revert("shoes").has_value());
  CHECK(state_of(versions).champion == first);
}

TEST_CASE("A challenger that is the oldest version is not removed", "[service][models]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  ModelVersions versions(folder.path());
  std::vector<std::string> added;
  for (std::size_t i = 0; i < ModelVersions::kMaxVersions; ++i)
    added.push_back(add_version(versions, 1.0 + static_cast<double>(i)));
  folder.write("shoes.json", fusion::model_text(model_of(0.5)));  // one version more
  CHECK(add_version(versions, 1.0) == added[0]);                  // retrained with the same result
  const ModelState state = state_of(versions);
  CHECK(state.challenger == added[0]);
  CHECK(state.versions.size() == ModelVersions::kMaxVersions);
  CHECK(versions.read("shoes", added[0]).has_value());
  CHECK(versions.read("shoes", state.champion).has_value());
  CHECK(versions.read("shoes", added[1]).has_error());  // the oldest that nothing uses
}

TEST_CASE("Bad names and unknown versions and damaged files are refused", "[service][models]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  ModelVersions versions(folder.path());
  for (const char* name : {"", "../etc", "a/b", "A", ".", "a.b"}) {
    CHECK(versions.state(name).error().code == Code::usage);
    CHECK(versions.read(name, "0123456789ab").error().code == Code::usage);
  }
  for (const char* version : {"", "../../../x", "0123456789ab", "0123456789AB", "state"}) {
    CHECK(versions.activate("shoes", version).error().code == Code::usage);
    CHECK(versions.read("shoes", version).has_error());
  }
  const std::string version = add_version(versions, 1);
  const std::string file = "versions/shoes/" + version + ".json";
  folder.write(file, fusion::model_text(model_of(9)));
  CHECK(versions.activate("shoes", version).error().code == Code::bad_data);
  for (const char* text :
       {"", "{}", "[]", R"({"versions":[1],"challenger":"","history":[],"tests":0})",
        R"({"versions":[{"version":"../x","learner":"","origin":"","at":1}],"challenger":"",
                               "history":[],"tests":0})"}) {
    folder.write("versions/shoes/state.json", text);
    CHECK(versions.state("shoes").error().code == Code::bad_data);
  }
}

TEST_CASE("Processes that share a folder of models keep each other's changes",
          "[service][models][security]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  constexpr int kEach = 8;
  std::vector<std::thread> threads;
  for (int process = 0; process < 3; ++process)
    threads.emplace_back([&folder, process] {
      ModelVersions versions(folder.path());  // with its own lock, as in another process
      for (int i = 0; i < kEach; ++i)
        static_cast<void>(versions.add_challenger("shoes", model_of(1 + process * kEach + i), "retrain", 1));
    });
  for (std::thread& thread : threads) thread.join();
  ModelVersions versions(folder.path());
  CHECK(state_of(versions).versions.size() == 3 * kEach);
}

TEST_CASE("The history names the last twenty champions", "[service][models]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  ModelVersions versions(folder.path());
  for (int i = 1; i <= 20; ++i) REQUIRE(versions.activate("shoes", add_version(versions, i, i)).has_value());
  const std::size_t after_twenty = state_of(versions).history.size();
  for (int i = 21; i <= 25; ++i) REQUIRE(versions.activate("shoes", add_version(versions, i, i)).has_value());
  CHECK(state_of(versions).history.size() == 20);
  CHECK(after_twenty + 1 >= 20);  // the first champion follows none
}

TEST_CASE("A domain's name fits into a file's name", "[service][models]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  ModelVersions versions(folder.path());
  const auto is_good = [&](const std::string& domain) {
    return versions.add_challenger(domain, model_of(1), "retrain", 1).has_value();
  };
  CHECK(is_good(std::string(64, 'd')));
  CHECK_FALSE(is_good(std::string(65, 'd')));
  CHECK(is_good("a-z0-9"));
  CHECK_FALSE(is_good(""));
  CHECK_FALSE(is_good("A"));
}

TEST_CASE("Activating the champion again changes nothing", "[service][models]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  ModelVersions versions(folder.path());
  const std::string first = add_version(versions, 1);
  const std::string second = add_version(versions, 2);
  REQUIRE(versions.activate("shoes", first).has_value());
  REQUIRE(versions.activate("shoes", second).has_value());
  REQUIRE(versions.activate("shoes", second).has_value());
  REQUIRE(versions.revert("shoes").has_value());
  CHECK(state_of(versions).champion == first);
}

TEST_CASE("Activating the champion ends a pause of promotion", "[service][models]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  ModelVersions versions(folder.path());
  const std::string first = add_version(versions, 1);
  REQUIRE(versions.activate("shoes", first).has_value());
  REQUIRE(versions.activate("shoes", add_version(versions, 2)).has_value());
  REQUIRE(versions.revert("shoes").has_value());
  REQUIRE(state_of(versions).is_promotion_paused);
  REQUIRE(versions.activate("shoes", first).has_value());
  CHECK_FALSE(state_of(versions).is_promotion_paused);
  CHECK(state_of(versions).champion == first);
  CHECK(state_of(versions).history == std::vector<std::string>{""});
}

TEST_CASE("A restored state is that before the activation with the versions added since",
          "[service][models]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  ModelVersions versions(folder.path());
  const std::string first = add_version(versions, 1);
  REQUIRE(versions.activate("shoes", first).has_value());
  REQUIRE(versions.activate("shoes", add_version(versions, 2)).has_value());
  REQUIRE(versions.revert("shoes").has_value());
  const std::string challenger = add_version(versions, 3);
  CHECK(*versions.count_test("shoes", "one") == 1);
  const ModelState before = state_of(versions);
  for (const bool is_back : {false, true}) {
    REQUIRE((is_back ? versions.revert("shoes") : versions.activate("shoes", challenger)).has_value());
    const std::string added = add_version(versions, is_back ? 5 : 4);
    REQUIRE(versions.restore("shoes", before).has_value());
    const ModelState state = state_of(versions);
    CHECK(state.champion == first);
    CHECK(*read_text(folder.path("shoes.json"), 1 << 20) == fusion::model_text(model_of(1)));
    CHECK(state.challenger == challenger);
    CHECK(state.history == before.history);
    CHECK(state.is_promotion_paused);
    CHECK(state.tests == 1);
    CHECK(state.tested == "one");
    CHECK(state.versions.front().version == added);
  }
}

TEST_CASE("A promotion that somebody paused stays paused when a test reverts", "[service][models]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  ModelVersions versions(folder.path());
  for (const double alpha : {1.0, 2.0, 3.0})
    REQUIRE(versions.activate("shoes", add_version(versions, alpha)).has_value());
  REQUIRE(versions.revert("shoes", true).has_value());
  REQUIRE(versions.revert("shoes", false).has_value());
  CHECK(state_of(versions).is_promotion_paused);
}

TEST_CASE("Tests are counted from one for each champion", "[service][models]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  ModelVersions versions(folder.path());
  CHECK(*versions.count_test("shoes", "") == 1);
  CHECK(*versions.count_test("shoes", "") == 1);
  CHECK(*versions.count_test("shoes", "one") == 2);
  REQUIRE(versions.activate("shoes", add_version(versions, 1)).has_value());
  CHECK(state_of(versions).tests == 0);
  CHECK(state_of(versions).tested.empty());
  CHECK(*versions.count_test("shoes", "one") == 1);
}

TEST_CASE("What is noted again is not saved again", "[service][models]") {
  const test::TemporaryFolder folder(test::TemporaryFolder::in_memory());
  ModelVersions versions(folder.path());
  int saved = 0;
  versions.on_saved = [&](std::string_view) -> Result<void> {
    ++saved;
    return {};
  };
  JudgedGain gain;
  gain.queries = 3;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(versions.note_gain("shoes", gain).has_value());
    CHECK(saved == 1);
  }
  for (int i = 0; i < 2; ++i) {
    REQUIRE(versions.note_decision("shoes", {7, "kept"}).has_value());
    CHECK(saved == 2);
  }
  gain.queries = 4;
  REQUIRE(versions.note_gain("shoes", gain).has_value());
  CHECK(saved == 3);
}

TEST_CASE("A gain is told from two judged queries on", "[service][models]") {
  JudgedGain gain;
  gain.before = 0.5;
  gain.after = 0.75;
  const auto text = [&](std::size_t queries) {
    gain.queries = queries;
    return gain_text(gain);
  };
  CHECK(text(0).starts_with("0 judged queries with a relevant result"));
  CHECK(text(1).starts_with("1 judged query with a relevant result"));
  CHECK(text(2).starts_with("2 judged queries: mean reciprocal rank 0.50 before, 0.75 now"));
}
