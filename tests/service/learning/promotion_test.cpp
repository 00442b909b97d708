#include "service/learning/promotion.h"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/feedback_world.h"

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::FeedbackWorld;
using metafuse::test::kNewYear;

TEST_CASE("Clicks on the worst order still teach which engine is best", "[service][learning]") {
  FeedbackWorld world;
  for (int i = 0; i < 300; ++i) world.search_and_click();
  for (int i = 0; i < 40; ++i) world.judge(true);
  ModelVersions versions(world.folder.path("models"));
  std::filesystem::create_directories(world.folder.path("models"));
  const auto trained = retrain(*world.store, versions, world.options());
  if (trained.has_error()) FAIL(trained.error().text);
  CHECK(trained->report.held_out_queries == 40);
  CHECK(trained->report.clicked_searches > 50);
  const auto report = promote_if_better(*world.store, versions, "shoes", {}, true);
  REQUIRE(report.has_value());
  INFO(report->reason << " " << report->champion << " -> " << report->challenger);
  CHECK(report->queries == 40);
  CHECK(report->is_better);
  CHECK(report->challenger > report->champion + 0.1);
  CHECK(versions.state("shoes")->champion == trained->version);
  // The same data give the same model, so there is nothing new to measure.
  const auto again = retrain(*world.store, versions, world.options());
  CHECK(again->is_champion_again);
  CHECK(promote_if_better(*world.store, versions, "shoes", {}, true).error().code == Code::usage);
}

TEST_CASE("Promotion needs enough judgments and significance and permission", "[service][learning]") {
  FeedbackWorld world;
  std::filesystem::create_directories(world.folder.path("models"));
  ModelVersions versions(world.folder.path("models"));
  for (int i = 0; i < 30; ++i) world.judge(false);
  for (int i = 0; i < 20; ++i) world.judge(true);
  RetrainOptions options = world.options();
  options.rules.fewest_queries = 20;
  const auto trained = retrain(*world.store, versions, options);
  REQUIRE(trained.has_value());
  CHECK(trained->report.judged_queries == 30);
  CHECK(trained->report.held_out_queries == 20);
  const auto few = promote_if_better(*world.store, versions, "shoes", {}, true);
  CHECK_FALSE(few->is_better);
  CHECK(few->reason.find("only 20") != std::string::npos);
  CHECK(versions.state("shoes")->tests == 0);

  PromotionRules rules{.fewest_queries = 20};
  const auto measured = promote_if_better(*world.store, versions, "shoes", rules, false);
  CHECK(measured->is_better);
  CHECK(versions.state("shoes")->champion.empty());
  rules.level = 1e-12;
  const auto strict = promote_if_better(*world.store, versions, "shoes", rules, true);
  CHECK_FALSE(strict->is_better);
  CHECK(strict->reason.find("chance") != std::string::npos);
  CHECK(versions.state("shoes")->tests == 1);
  rules.level = 0.05;
  // the same challenger on the same judgments is the same test; a new judgment makes it a new test
  CHECK(promote_if_better(*world.store, versions, "shoes", rules, false)->level == Approx(0.05 / 2));
  world.judge(true);
  CHECK(promote_if_better(*world.store, versions, "shoes", rules, true)->level == Approx(0.05 / 6));
  CHECK(versions.state("shoes")->champion == trained->version);

  // After a manual revert only a manual activation goes forward again.
  REQUIRE(versions.revert("shoes").has_value());
  CHECK(retrain(*world.store, versions, options)->version == trained->version);
  const auto back = promote_if_better(*world.store, versions, "shoes", rules, true);
  CHECK_FALSE(back->is_better);
  CHECK(back->reason.find("the previous champion was restored") != std::string::npos);
  CHECK(versions.state("shoes")->champion.empty());
  REQUIRE(versions.activate("shoes", trained->version).has_value());
  CHECK_FALSE(versions.state("shoes")->is_promotion_paused);
}

TEST_CASE("The significance levels of all tests sum to less than the total level", "[service][learning]") {
  double sum = 0;
  for (std::uint32_t test = 1; test <= 100000; ++test) sum += level_of_test(0.05, test);
  CHECK(sum < 0.05);
  CHECK(level_of_test(0.05, 1) == 0.025);
}

TEST_CASE("A model of a domain also learns from what people judged of the same lists elsewhere",
          "[service][learning]") {
  FeedbackWorld world;
  std::filesystem::create_directories(world.folder.path("models"));
  ModelVersions versions(world.folder.path("models"));
  for (int i = 0; i < 12; ++i) world.judge(false);
  for (int i = 0; i < 3; ++i) world.judge(true);  // held out for that domain's own models
  std::set<std::uint32_t> relevant;
  StoredSearch own = world.search(relevant, "00000005");
  own.domain = "boots";
  REQUIRE(world.store->searches.add({&own, 1}).has_value());
  for (std::uint32_t d = 0; d < 10; ++d)
    REQUIRE(world.store->judgments
                .set({"boots", own.query, own.documents[d], "ann", relevant.contains(d) ? 1 : 0, own.id,
                      kNewYear})
                .has_value());
  RetrainOptions options = world.options();
  options.training.domain = "boots";
  options.training.features = rank_features(own);
  options.learner = "rankboost-blend";
  options.options = {};
  const auto alone = retrain(*world.store, versions, options);
  REQUIRE(alone.has_value());
  CHECK_FALSE(versions.read("boots", alone->version)->training.contains("pooled"));
  options.pooled = {"shoes"};
  const auto joint = retrain(*world.store, versions, options);
  if (joint.has_error()) FAIL(joint.error().text);
  CHECK(versions.read("boots", joint->version)->training.at("pooled").at("queries") == 12);

  // a query that is judged in both domains may be held out in one of them
  own.slots.slots = {{"NAME", "Red  boots"}};
  own.id = new_search_id();
  REQUIRE(world.store->searches.add({&own, 1}).has_value());
  REQUIRE(world.store->judgments.set({"boots", own.query, own.documents[0], "ann", 1, own.id, kNewYear})
              .has_value());
  StoredSearch twin = world.search(relevant, "00000006");
  const auto pooled_with = [&](const std::string& text) {
    twin.slots.slots = {{"QUERY", text}};
    twin.id = new_search_id();
    REQUIRE(world.store->searches.add({&twin, 1}).has_value());
    for (std::uint32_t d = 0; d < 10; ++d)
      REQUIRE(world.store->judgments
                  .set({"shoes", twin.query, twin.documents[d], "ann", relevant.contains(d) ? 1 : 0, twin.id,
                        kNewYear})
                  .has_value());
    const auto trained = retrain(*world.store, versions, options);
    if (trained.has_error()) FAIL(trained.error().text);
    return versions.read("boots", trained->version)->training.at("pooled").at("queries").to_number<int>();
  };
  CHECK(pooled_with("red boots") == 12);
  CHECK(pooled_with("green boots") == 13);
  CHECK(pooled_with("") == 12);  // nobody can tell whether it was judged here, too
}

TEST_CASE("A query that was judged here is not pooled although its words are gone", "[service][learning]") {
  FeedbackWorld world;
  std::filesystem::create_directories(world.folder.path("models"));
  ModelVersions versions(world.folder.path("models"));
  const std::string secret = world.store->privacy.secret().value();
  const auto judge = [&](const std::string& domain, const BaseQuery& words, bool are_words_known) {
    std::set<std::uint32_t> relevant;
    StoredSearch search = world.search(relevant, query_digest(secret, domain, words, "NAME"));
    search.domain = domain;
    search.slots = are_words_known ? words : BaseQuery();
    REQUIRE(world.store->searches.add({&search, 1}).has_value());
    for (std::uint32_t d = 0; d < 10; ++d)
      REQUIRE(world.store->judgments
                  .set({domain, search.query, search.documents[d], "ann", relevant.contains(d) ? 1 : 0,
                        search.id, kNewYear})
                  .has_value());
    return search;
  };
  int pooled = 0;
  std::vector<fusion::Feature> features;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "boot " + std::to_string(i);
    const StoredSearch own = judge("boots", {{{"NAME", name}}}, false);
    features = rank_features(own);
    // this domain calls the slot otherwise
    judge("shoes", {{{"QUERY", name}}}, true);
    pooled += is_held_out(judge("shoes", {{{"QUERY", "shoe " + std::to_string(i)}}}, true).query) ? 0 : 1;
  }
  RetrainOptions options = world.options();
  options.training.domain = "boots";
  options.training.features = features;
  options.learner = "rankboost-blend";
  options.options = {};
  options.pooled = {"shoes"};
  const auto joint = retrain(*world.store, versions, options);
  if (joint.has_error()) FAIL(joint.error().text);
  CHECK(versions.read("boots", joint->version)->training.at("pooled").at("queries") == pooled);
}

TEST_CASE("A domain that selects lists learns which ones to ask first", "[service][learning]") {
  FeedbackWorld world;
  std::filesystem::create_directories(world.folder.path("models"));
  ModelVersions versions(world.folder.path("models"));
  for (int i = 0; i < 30; ++i) world.judge(false);
  RetrainOptions options = world.options();
  options.choice.emplace();
  const auto trained = retrain(*world.store, versions, options);
  if (trained.has_error()) FAIL(trained.error().text);
  const auto model = versions.read("shoes", trained->version).value();
  REQUIRE(model.choice.has_value());
  CHECK(model.choice->queries == 30);
  CHECK(model.features[model.choice->order.front()].name == "good@g");
}
