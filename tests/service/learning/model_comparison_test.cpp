#include "service/learning/model_comparison.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/training/registry.h"
#include "service/learning/promotion.h"
#include "service/learning/store_training.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;

namespace {

constexpr UnixTime kNow = 1700000000;

/// A search whose one relevant document the list "good@g" ranks first or second and "bad@b" and "worse@w"
/// rank low, so that RRF places it below others.
StoredSearch search_with_answer(int number, Random& random) {
  StoredSearch search;
  search.id = new_search_id();
  search.domain = "shoes";
  search.query = query_digest("secret", "shoes", {{{"Q", std::to_string(number)}}});
  search.slots = {{{"QUERY", "shoe " + std::to_string(number)}}};
  search.at = kNow;
  std::vector<std::uint32_t> others;
  for (std::uint32_t i = 0; i < 8; ++i) {
    search.documents.push_back("http://s.example/" + std::to_string(number) + "/" + std::to_string(i));
    if (i > 0) others.push_back(i);
    search.shown.push_back({i, Team::none});
  }
  const auto list = [&](const char* name, std::size_t place) {
    random.shuffle(others);
    StoredList made{name, 10, false, others};
    made.documents.insert(made.documents.begin() + static_cast<std::ptrdiff_t>(place), 0);
    return made;
  };
  search.lists = {list("good@g", number % 2 == 0 ? 0 : 1), list("bad@b", 6), list("worse@w", 7)};
  return search;
}

struct Shop {
  test::TemporaryFolder folder{test::TemporaryFolder::in_memory()};
  std::unique_ptr<Store> store = open_store(folder.path("store.db")).value();

  void judge(const StoredSearch& search) {
    REQUIRE(store->searches.add({&search, 1}).has_value());
    REQUIRE(store->judgments
                .set(StoredJudgment{"shoes", search.query, search.documents[0], "ann", 2, search.id, kNow})
                .has_value());
    REQUIRE(store->judgments
                .set(StoredJudgment{"shoes", search.query, search.documents[1], "ann", 0, search.id, kNow})
                .has_value());
  }
  StoreTrainingOptions options() const {
    StoreTrainingOptions options;
    options.domain = "shoes";
    options.now = kNow;
    options.are_held_out_used = true;
    return options;
  }
  RetrainOptions retraining() const {
    RetrainOptions out;
    out.training = options();
    return out;
  }
};

int place_of_answer(const StoredSearch& search, const fusion::Model* model) {
  const auto order = stored_ranking(search, {model});
  return 1 + static_cast<int>(std::find(order.begin(), order.end(), search.documents[0]) - order.begin());
}

std::vector<StoredSearch> searches(int count, std::uint64_t seed = 5) {
  Random random(seed);
  std::vector<StoredSearch> out;
  for (int i = 0; i < count; ++i) out.push_back(search_with_answer(i, random));
  return out;
}

}  // namespace

TEST_CASE("Cross-validation places each judged query by a model that has not seen it",
          "[service][learning]") {
  const auto all = searches(6);
  const fusion::Learner* learner = fusion::find_learner("rankboost");
  // Six queries make six folds, so the reference trains once per query on a store without it.
  std::map<std::string, ChangedPlace> expected;
  for (const StoredSearch& left_out : all) {
    Shop shop;
    for (const StoredSearch& search : all)
      if (search.id != left_out.id) shop.judge(search);
    const auto set = training_set_from_store(*shop.store, shop.options());
    fusion::TrainingRequest request;
    request.train = &set.value();
    const auto trained = learner->train(request);
    REQUIRE(trained.has_value());
    expected[left_out.query] = {left_out.query, place_of_answer(left_out, nullptr),
                                place_of_answer(left_out, &trained->model)};
  }
  Shop shop;
  for (const StoredSearch& search : all) shop.judge(search);
  const auto set = training_set_from_store(*shop.store, shop.options());
  GainRequest request;
  request.domain = "shoes";
  request.set = &set.value();
  request.learner = learner;
  const auto gain = cross_validated_gain(*shop.store, request);
  REQUIRE(gain.has_value());
  CHECK(gain->queries == 6);
  double before = 0;
  double after = 0;
  std::size_t changed = 0;
  for (const auto& [query, place] : expected) {
    before += 1.0 / place.before / 6;
    after += 1.0 / place.after / 6;
    changed += place.before != place.after ? 1 : 0;
  }
  CHECK(gain->before == Approx(before));
  CHECK(gain->after == Approx(after));
  CHECK(gain->after > gain->before + 0.2);
  CHECK(gain->better.size() + gain->worse.size() == changed);
  for (const ChangedPlace& place : gain->better) CHECK(expected.at(place.query) == place);
}

TEST_CASE("While few queries are judged a model becomes champion by cross-validation",
          "[service][learning]") {
  Shop shop;
  std::filesystem::create_directories(shop.folder.path("models"));
  ModelVersions versions(shop.folder.path("models"));
  const auto all = searches(12);
  shop.judge(all[0]);
  const auto first = retrain(*shop.store, versions, shop.retraining());
  REQUIRE(first.has_value());
  CHECK(gain_text(*first->gain) ==
        "1 judged query with a relevant result in the lists; cross-validation needs two");
  if (!first->is_champion_again) {
    CHECK_FALSE(promote_if_better(*shop.store, versions, "shoes", {}, true)->is_better);
    CHECK(versions.state("shoes")->champion.empty());
  }
  for (std::size_t i = 1; i < all.size(); ++i) shop.judge(all[i]);
  const auto trained = retrain(*shop.store, versions, shop.retraining());
  REQUIRE(trained.has_value());
  CHECK(trained->report.judged_queries == 12);  // the held-out ones, too
  CHECK(trained->report.held_out_queries == 0);
  const auto report = promote_if_better(*shop.store, versions, "shoes", {}, true);
  INFO(report->reason);
  CHECK(report->is_better);
  CHECK(report->measure == "recip_rank");
  CHECK(report->reason.find("12 judged queries: mean reciprocal rank ") == 0);
  CHECK(report->challenger > report->champion);
  const auto state = versions.state("shoes");
  CHECK(state->champion == trained->version);
  CHECK(state->gain == trained->gain);
  const auto story = learning_story(*shop.store, "shoes", *state);
  REQUIRE(story.has_value());
  CHECK(story->changes.size() == state->gain->better.size() + state->gain->worse.size());
  REQUIRE_FALSE(story->changes.empty());
  CHECK(story->changes.front().find("shoe ") == 0);
}

TEST_CASE("A model below the order that it replaces is not used, even within the error",
          "[service][learning]") {
  Shop shop;
  std::filesystem::create_directories(shop.folder.path("models"));
  ModelVersions versions(shop.folder.path("models"));
  for (const StoredSearch& search : searches(4)) shop.judge(search);
  const auto trained = retrain(*shop.store, versions, shop.retraining());
  REQUIRE(trained.has_value());
  REQUIRE(versions.note_gain("shoes", JudgedGain{trained->version, 8, 0.8, 0.75, 0.1}).has_value());
  const auto worse = promote_if_better(*shop.store, versions, "shoes", {}, true);
  CHECK_FALSE(worse->is_better);
  CHECK(worse->reason.find("is not used because it is below the other, standard error 0.10") !=
        std::string::npos);
  CHECK(versions.state("shoes")->champion.empty());
  REQUIRE(versions.note_gain("shoes", JudgedGain{trained->version, 8, 0.8, 0.8, 0.1}).has_value());
  CHECK(promote_if_better(*shop.store, versions, "shoes", {}, true)->is_better);
  CHECK(versions.state("shoes")->champion == trained->version);
}

TEST_CASE("A challenger that was trained on the held-out queries is not tested on them",
          "[service][learning]") {
  Shop shop;
  std::filesystem::create_directories(shop.folder.path("models"));
  ModelVersions versions(shop.folder.path("models"));
  for (const StoredSearch& search : searches(40)) shop.judge(search);
  PromotionRules rules;
  rules.fewest_queries = *held_out_queries(*shop.store, "shoes", {}) + 1;
  RetrainOptions options = shop.retraining();
  options.rules = rules;
  const auto trained = retrain(*shop.store, versions, options);
  REQUIRE(trained.has_value());
  REQUIRE(trained->report.held_out_queries == 0);
  --rules.fewest_queries;  // as if one more had been judged since
  const auto report = promote_if_better(*shop.store, versions, "shoes", rules, false);
  CHECK(report->measure == "recip_rank");
  CHECK(report->p == 1);
  CHECK(report->reason.find("a test follows with the next training") != std::string::npos);
  REQUIRE(versions.note_gain("shoes", std::nullopt).has_value());
  const auto unknown = promote_if_better(*shop.store, versions, "shoes", rules, true);
  CHECK_FALSE(unknown->is_better);
  CHECK(unknown->reason.find("trained on the held-out queries") != std::string::npos);
  CHECK(versions.state("shoes")->tests == 0);
  CHECK(versions.state("shoes")->champion.empty());
}

TEST_CASE("The first challenger is compared with what serves the domain without a champion",
          "[service][learning]") {
  Shop shop;
  std::filesystem::create_directories(shop.folder.path("models"));
  ModelVersions versions(shop.folder.path("models"));
  for (const StoredSearch& search : searches(40)) shop.judge(search);
  RetrainOptions options = shop.retraining();
  options.rules.fewest_queries = *held_out_queries(*shop.store, "shoes", {});
  options.learner = "rankboost";
  const auto trained = retrain(*shop.store, versions, options);
  REQUIRE(trained.has_value());
  const auto challenger = versions.read("shoes", trained->version);
  PromotionRules rules = options.rules;
  const auto after_rrf = promote_if_better(*shop.store, versions, "shoes", rules, false);
  CHECK(after_rrf->is_better);
  rules.without_champion.model = &*challenger;  // other domains taught the same order
  const auto after_prior = promote_if_better(*shop.store, versions, "shoes", rules, false);
  CHECK_FALSE(after_prior->is_better);
  CHECK(after_prior->champion == after_prior->challenger);
  CHECK(after_prior->challenger == after_rrf->challenger);
}

TEST_CASE("A champion that was trained on the held-out queries is not compared on them",
          "[service][learning]") {
  Shop shop;
  std::filesystem::create_directories(shop.folder.path("models"));
  ModelVersions versions(shop.folder.path("models"));
  for (const StoredSearch& search : searches(40)) shop.judge(search);
  RetrainOptions options = shop.retraining();
  REQUIRE(retrain(*shop.store, versions, options).has_value());
  REQUIRE(promote_if_better(*shop.store, versions, "shoes", {}, true)->is_better);
  PromotionRules rules;
  rules.fewest_queries = *held_out_queries(*shop.store, "shoes", {});
  REQUIRE(rules.fewest_queries >= 6);
  options.rules = rules;
  options.learner = "rankboost";
  const auto trained = retrain(*shop.store, versions, options);
  REQUIRE(trained.has_value());
  CHECK_FALSE(trained->gain.has_value());
  CHECK(trained->report.held_out_queries == rules.fewest_queries);
  const auto report = promote_if_better(*shop.store, versions, "shoes", rules, false);
  const auto challenger = versions.read("shoes", trained->version);
  const auto by_rrf = measure_on_held_out(*shop.store, "shoes", {}, *challenger);
  double rrf = 0;
  for (const double value : by_rrf->before) rrf += value / static_cast<double>(by_rrf->before.size());
  CHECK(report->champion == Approx(rrf));
}

TEST_CASE("A held-out query counts if a search of it can be ordered, whichever was judged",
          "[service][learning]") {
  Shop taught;
  for (const StoredSearch& search : searches(8)) taught.judge(search);
  const auto set = training_set_from_store(*taught.store, taught.options());
  fusion::TrainingRequest request;
  request.train = &set.value();
  const auto trained = fusion::find_learner("rankboost")->train(request);
  REQUIRE(trained.has_value());

  Shop shop;
  std::size_t held_out = 0;
  std::size_t searched = 0;
  for (const StoredSearch& search : searches(40)) {
    if (!is_held_out(search.query)) continue;
    StoredSearch imported = search;  // judgments of a search without lists
    imported.id = new_search_id();
    imported.lists.clear();
    shop.judge(imported);
    if (++held_out % 2 == 0) continue;  // nobody has searched for it since
    StoredSearch later = search;
    later.at += 60;
    REQUIRE(shop.store->searches.add({&later, 1}).has_value());
    ++searched;
  }
  REQUIRE(searched >= 3);
  CHECK(*held_out_queries(*shop.store, "shoes", trained->model.features) == searched);
  const auto measured = measure_on_held_out(*shop.store, "shoes", {}, trained->model);
  CHECK(measured->before.size() == searched);
  CHECK(measured->after.size() == searched);
  CHECK(*held_out_queries(*shop.store, "shoes", {{"renamed@g", fusion::FeatureKind::rank, 10}}) == 0);
}

TEST_CASE("What was set aside is compared only if it is judged", "[service][learning]") {
  const auto place_of = [](bool is_judged) {
    Shop shop;
    std::vector<StoredSearch> judged = searches(40);
    std::erase_if(judged, [](const StoredSearch& search) { return !is_held_out(search.query); });
    StoredSearch search = judged.front();
    search.lists.resize(1);
    search.lists[0].documents = {5, 0, 1};
    search.set_aside = {5};
    shop.judge(search);
    if (is_judged)
      REQUIRE(shop.store->judgments
                  .set(StoredJudgment{"shoes", search.query, search.documents[5], "ann", 0, search.id, kNow})
                  .has_value());
    const auto model = fusion::parse_model(R"({"format":"metafuse-model","version":1,"learner":"rankboost",
"features":[{"name":"good@g","kind":"rank","depth":10}],"unranked":"absent",
"body":{"weak_rankings":[{"feature":0,"rank":1,"q_default":0,"alpha":1}]},"training":{}})",
                                           "model.json");
    return measure_on_held_out(*shop.store, "shoes", {}, model.value())->before.at(0);
  };
  CHECK(place_of(false) == 1.0);
  CHECK(place_of(true) < 1.0);
}
