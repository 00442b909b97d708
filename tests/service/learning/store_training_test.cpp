#include "service/learning/store_training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "service/learning/click_pairs.h"
#include "service/store/tables.h"
#include "tests/support/feedback_world.h"

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::click_at;
using metafuse::test::document_key;
using metafuse::test::FeedbackWorld;
using metafuse::test::kNewYear;
using metafuse::test::sample_search;

namespace {

/// Counts what is read from a database.
class CountingDatabase final : public SqlDatabase {
 public:
  explicit CountingDatabase(std::unique_ptr<SqlDatabase> database) : database_(std::move(database)) {}

  Result<void> write(const Transaction& work, Wait wait) override { return database_->write(work, wait); }
  Result<void> read(const Transaction& work, Wait wait) override {
    ++reads_;
    return database_->read(work, wait);
  }
  Result<void> check() override { return database_->check(); }
  std::string_view milliseconds_now() const override { return database_->milliseconds_now(); }
  int reads() const { return reads_; }

 private:
  std::unique_ptr<SqlDatabase> database_;
  int reads_ = 0;
};

}  // namespace

TEST_CASE("A store is turned into a training set with the served features", "[service][learning]") {
  FeedbackWorld world;
  StoredSearch clicked = sample_search();
  clicked.query = "00000005";  // not held out: 5 of 10
  // A caller's variant and the template's own list: the better rank counts.
  clicked.lists.push_back({"a@e1", 30, false, {3}});
  StoredSearch judged = sample_search();
  judged.query = "00000006";
  StoredSearch held = sample_search();
  held.query = "00000001";
  const StoredSearch all[] = {clicked, judged, held};
  REQUIRE(world.store->searches.add(all).has_value());
  for (const StoredSearch& search : {clicked, held}) world.add_click(search, 2);
  REQUIRE(!is_held_out("00000005"));
  REQUIRE(is_held_out(held.query));
  for (const StoredSearch* search : {&judged, &held})
    for (const auto& [judge, grade] : std::map<std::string, int>{{"ann", 1}, {"bob", 4}, {"eve", 3}})
      REQUIRE(world.store->judgments
                  .set({"shoes", search->query, document_key(1), judge, grade, search->id, kNewYear})
                  .has_value());
  StoreTrainingReport report;
  StoreTrainingOptions options;
  options.domain = "shoes";
  options.now = kNewYear;
  const auto set = training_set_from_store(*world.store, options, &report);
  REQUIRE(set.has_value());
  CHECK(report.judged_queries == 1);
  CHECK(report.held_out_queries == 1);
  CHECK(report.clicked_searches == 1);
  CHECK(report.held_out_searches == 1);
  CHECK(report.click_pairs == 3);
  REQUIRE(set->queries.size() == 2);
  REQUIRE(set->queries[0].id == "clicked 00000005#" + clicked.id);
  REQUIRE(set->matrix.feature_count() == 3);
  CHECK(set->documents[0] == document_key(0));
  CHECK(set->matrix.value(0, 0) == -2);
  CHECK(set->matrix.value(3, 0) == -1);
  CHECK(set->matrix.is_unranked(0, 1));
  CHECK(set->matrix.value(3, 1) == -1);
  CHECK(set->matrix.is_unranked(3, 2));
  CHECK(set->pairs[0].below == 0);
  CHECK(set->pairs[0].above == 2);
  CHECK(set->pairs[2].below == 3);
  const std::size_t row = set->queries[1].begin + 1;
  CHECK(set->documents[row] == document_key(1));
  CHECK(set->grades[row] == 3);
  CHECK(set->grades[row - 1] == 0);
  options.are_held_out_used = true;
  CHECK(training_set_from_store(*world.store, options)->queries.size() == 4);
}

TEST_CASE("Clicks are trusted as far as the judgments that are learned from agree with them",
          "[service][learning]") {
  const auto report_of = [](int grade_of_clicked, bool are_held_out_judged = false) {
    FeedbackWorld world;
    for (const std::string query : {"00000005", "00000001"})  // the second is held out
      for (int i = 0; i < 40; ++i) {
        const StoredSearch search = world.add_clicked(query);
        if (i > 0 || is_held_out(query) != are_held_out_judged) continue;
        for (std::size_t place = 0; place < search.shown.size(); ++place)
          REQUIRE(world.store->judgments
                      .set({"shoes", query, search.documents[search.shown[place].document], "ann",
                            place == 2 ? grade_of_clicked : 1, search.id, kNewYear})
                      .has_value());
      }
    StoreTrainingReport report;
    StoreTrainingOptions options;
    options.domain = "shoes";
    options.now = kNewYear;
    const auto set = training_set_from_store(*world.store, options, &report);
    REQUIRE(set.has_value());
    for (const auto& pair : set->pairs) {
      CHECK(pair.weight > 0);
      CHECK(pair.weight <= PositionBalance::kLargestFactor * report.click_trust);
    }
    CHECK(set->pairs.empty() == (report.click_trust == 0.0));
    return report;
  };
  const StoreTrainingReport right = report_of(2);
  const auto agreeing = static_cast<double>(right.agreeing_pairs);
  CHECK(agreeing >= 40);
  CHECK(right.disagreeing_pairs == 0);
  CHECK(right.click_trust == Approx((agreeing + 10) / (agreeing + 20)));
  const StoreTrainingReport wrong = report_of(0);
  CHECK(wrong.agreeing_pairs == 0);
  CHECK(wrong.click_trust == 0.0);
  CHECK(report_of(1).click_trust == 0.5);        // equal grades carry no information
  CHECK(report_of(0, true).click_trust == 0.5);  // promotions are measured by these
}

TEST_CASE("Clicks on held-out queries change no weight", "[service][learning]") {
  const auto weights_with = [](int held_out) {
    FeedbackWorld world;
    for (int i = 0; i < 10; ++i) world.add_clicked("00000005");
    for (int i = 0; i < held_out; ++i) {
      const StoredSearch search = world.add_clicked("00000001");
      world.add_click(search, 3);
    }
    StoreTrainingOptions options;
    options.domain = "shoes";
    options.now = kNewYear;
    StoreTrainingReport report;
    const auto set = training_set_from_store(*world.store, options, &report);
    REQUIRE(set.has_value());
    CHECK(report.held_out_searches == static_cast<std::size_t>(held_out));
    std::vector<double> weights;
    for (const auto& pair : set->pairs) weights.push_back(pair.weight);
    std::ranges::sort(weights);
    return weights;
  };
  REQUIRE_FALSE(weights_with(0).empty());
  CHECK(weights_with(30) == weights_with(0));
}

TEST_CASE("What was set aside is learned from with the rank that it had, and only if it is judged",
          "[service][learning]") {
  FeedbackWorld world;
  StoredSearch search = sample_search();
  search.query = "00000005";
  search.lists = {{"a@e", 10, false, {2, 0, 1, 3}, {1, 3, 4, 6}}};
  search.set_aside = {0, 3};
  REQUIRE(world.store->searches.add({&search, 1}).has_value());
  for (const auto& [document, grade] : {std::pair{2, 0}, {3, 1}})
    REQUIRE(world.store->judgments
                .set({"shoes", search.query, document_key(document), "ann", grade, search.id, kNewYear})
                .has_value());
  const auto set = training_set_from_store(*world.store, world.options().training);
  REQUIRE(set.has_value());
  REQUIRE(set->in_feedback.size() == 4);
  const std::vector<double> ranks{-3, -4, -1, -6};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(set->matrix.value(i, 0) == ranks[i]);
    CHECK(set->in_feedback[i] == (i == 0 ? 0 : 1));
    CHECK(set->grades[i] == (i == 3 ? 1.0 : 0.0));
  }
}

TEST_CASE("An empty store gives nothing to learn from and says what to do", "[service][learning]") {
  FeedbackWorld world;
  StoreTrainingOptions options;
  options.domain = "shoes";
  StoreTrainingReport report;
  REQUIRE(training_set_from_store(*world.store, options, &report).has_value());
  CHECK_FALSE(report.has_feedback());
  CHECK(report.too_little("shoes").find("judge or click") != std::string::npos);
}

TEST_CASE("One base query clicked again and again does not dominate the ranking", "[service][learning]") {
  FeedbackWorld world;
  for (int i = 0; i < 100; ++i) world.add_clicked("00000005");
  StoreTrainingReport report;
  StoreTrainingOptions options;
  options.domain = "shoes";
  options.now = kNewYear;
  const auto set = training_set_from_store(*world.store, options, &report);
  REQUIRE(set.has_value());
  double sum = 0;
  for (const auto& pair : set->pairs) sum += pair.weight;
  CHECK(sum <= options.most_of_query);
  CHECK(sum > options.most_of_query / 3);  // all weights are halved by the trust in clicks
  CHECK(report.capped_searches > 50);
  CHECK(report.clicked_searches + report.capped_searches == 100);
}

TEST_CASE("Three in ten base queries are held out", "[service][learning]") {
  int held = 0;
  for (int i = 0; i < 10000; ++i)
    held += is_held_out(query_digest("s", "d", {{{"Q", std::to_string(i)}}})) ? 1 : 0;
  CHECK(std::abs(held - 3000) < 140);
}

TEST_CASE("A list that a search did not ask for is noted as such", "[service][learning]") {
  FeedbackWorld world;
  const StoredSearch clicked = world.add_clicked("00000005");
  StoreTrainingOptions options;
  options.domain = "shoes";
  options.now = kNewYear;
  for (const char* name : {"a@e1", "left@out", "c@e3"})
    options.features.push_back({name, fusion::FeatureKind::rank, 10});
  const auto set = training_set_from_store(*world.store, options);
  REQUIRE(set.has_value());
  REQUIRE(set->queries.size() == 1);
  CHECK(set->queries[0].unasked == std::vector<std::uint32_t>{1});  // c@e3 was asked, and failed
}

TEST_CASE("A store's judged queries have the grades of what their lists lack, and clicks are no judgments",
          "[service][learning]") {
  FeedbackWorld world;
  world.judge(false);
  const StoredSearch clicked = world.add_clicked("00000005");
  const std::string judged = world.store->judgments.queries("shoes")->front().query;
  REQUIRE(world.store->judgments.set({"shoes", judged, "elsewhere", "ann", 1, "", kNewYear}).has_value());
  StoreTrainingOptions options = world.options().training;
  for (const char* name : {"good@g", "a@e1"})
    options.features.push_back({name, fusion::FeatureKind::rank, 10});
  const auto set = training_set_from_store(*world.store, options);
  REQUIRE(set.has_value());
  REQUIRE(set->queries.size() == 2);
  CHECK_FALSE(set->queries[0].is_judged);  // clicked
  CHECK(set->queries[1].is_judged);
  CHECK(set->queries[1].unlisted == std::vector<double>{1.0});
}

TEST_CASE("A clicked search is read once however many people clicked in it", "[service][learning]") {
  test::TemporaryFolder folder{test::TemporaryFolder::in_memory()};
  auto database = open_sqlite(folder.path("store.db"), StoreMode::serve).value();
  REQUIRE(prepare_schema(*database, StoreMode::serve).has_value());
  auto counting = std::make_unique<CountingDatabase>(std::move(database));
  const CountingDatabase& counts = *counting;
  Store store(std::move(counting), "");
  StoredSearch search = sample_search();
  search.query = "00000005";
  REQUIRE(store.searches.add({&search, 1}).has_value());
  constexpr std::size_t kPeople = 40;
  for (std::size_t i = 0; i < kPeople; ++i) {
    Click click = click_at(2, 0.1);
    click.search = delivered_id("secret", search.id, std::to_string(i));
    click.domain = "shoes";
    REQUIRE(store.clicks.add(click, {1e9, 1e9}).has_value());
  }
  const int before = counts.reads();
  StoreTrainingReport report;
  StoreTrainingOptions options;
  options.domain = "shoes";
  options.now = kNewYear;
  REQUIRE(training_set_from_store(store, options, &report).has_value());
  CHECK(report.clicked_searches == kPeople);
  CHECK(counts.reads() - before < 10);
}
