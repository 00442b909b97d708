#include "service/learning/store_training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fusion/training/registry.h"
#include "service/learning/click_pairs.h"
#include "service/learning/promotion.h"
#include "service/store/tables.h"
#include "tests/support/sample_search.h"
#include "tests/support/temporary_folder.h"

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::document_key;
using metafuse::test::kNewYear;
using metafuse::test::sample_search;

namespace {

constexpr std::int64_t kSecondsOfADay = 86400;

Click click_at(std::uint32_t position, double weight = 1, UnixTime at = kNewYear) {
  Click click;
  click.position = position;
  click.weight = weight;
  click.at = at;
  return click;
}

StoredSearch shown(std::size_t results) {
  StoredSearch search;
  for (std::uint32_t i = 0; i < results; ++i) {
    search.documents.push_back(document_key(static_cast<int>(i)));
    search.shown.push_back({i, Team::none});
  }
  return search;
}

/// Ten documents, some of them relevant. Engine "good" ranks the relevant ones first, "bad" ranks them last,
/// "noise" ranks at random. Users see the documents in the order of `shown`.
struct World {
  test::TemporaryFolder folder{test::TemporaryFolder::in_memory()};
  std::unique_ptr<Store> store = open_store(folder.path("store.db")).value();
  Random random{11};
  ClickCaps no_caps{1e9, 1e9};
  int searches = 0;

  /// Stores a search whose third result was clicked.
  StoredSearch add_clicked(const std::string& query) {
    StoredSearch search = sample_search();
    search.query = query;
    REQUIRE(store->searches.add({&search, 1}).has_value());
    add_click(search, 2);
    return search;
  }
  void add_click(const StoredSearch& search, std::uint32_t position) {
    Click click = click_at(position);
    click.search = search.id;
    click.domain = "shoes";
    REQUIRE(store->clicks.add(click, no_caps).has_value());
  }

  StoredSearch search(std::set<std::uint32_t>& relevant, const std::string& query) {
    StoredSearch out;
    out.id = new_search_id();
    out.domain = "shoes";
    out.query = query;
    out.at = kNewYear;
    std::vector<std::uint32_t> documents;
    for (std::uint32_t i = 0; i < 10; ++i) {
      out.documents.push_back(document_key(searches * 10 + static_cast<int>(i)));
      documents.push_back(i);
    }
    out.slots.slots = {{"QUERY", "name " + std::to_string(searches)}};
    ++searches;
    random.shuffle(documents);
    relevant.clear();
    relevant.insert(documents.begin(), documents.begin() + 3);
    const auto list = [&](std::string name, double quality) {
      std::vector<std::pair<double, std::uint32_t>> scored;
      for (const std::uint32_t d : documents)
        scored.emplace_back(-(relevant.contains(d) ? quality : 0.0) - random.uniform(), d);
      std::sort(scored.begin(), scored.end());
      StoredList made{std::move(name), 10, false, {}};
      for (const auto& [score, d] : scored) made.documents.push_back(d);
      return made;
    };
    out.lists = {list("bad@b", -0.6), list("good@g", 0.6), list("noise@n", 0)};
    // Users are shown the bad engine's order.
    for (const std::uint32_t d : out.lists[0].documents) out.shown.push_back({d, Team::none});
    return out;
  }

  std::string new_query() { return query_digest("secret", "shoes", {{{"Q", std::to_string(searches)}}}); }

  /// A user looks at position k with probability 1/k and clicks a relevant result there with probability 0.8,
  /// any other with 0.1.
  void search_and_click() {
    std::set<std::uint32_t> relevant;
    const StoredSearch made = search(relevant, new_query());
    REQUIRE(store->searches.add({&made, 1}).has_value());
    for (std::uint32_t position = 0; position < made.shown.size(); ++position) {
      const bool is_seen = random.uniform() * (position + 1) < 1;
      const bool is_wanted = relevant.contains(made.shown[position].document);
      if (!is_seen || random.uniform() >= (is_wanted ? 0.8 : 0.1)) continue;
      add_click(made, position);
    }
  }

  void judge(bool is_held_out_wanted) {
    std::string query = new_query();
    for (int salt = 0; is_held_out(query) != is_held_out_wanted; ++salt)
      query = query_digest("salt", "shoes", {{{"Q", std::to_string(searches) + "/" + std::to_string(salt)}}});
    std::set<std::uint32_t> relevant;
    const StoredSearch made = search(relevant, query);
    REQUIRE(store->searches.add({&made, 1}).has_value());
    for (std::uint32_t d = 0; d < 10; ++d)
      REQUIRE(store->judgments
                  .set({"shoes", query, made.documents[d], "ann", relevant.contains(d) ? 1 : 0, made.id,
                        kNewYear})
                  .has_value());
  }

  RetrainOptions options() const {
    RetrainOptions out;
    out.training.domain = "shoes";
    out.training.now = kNewYear;
    out.learner = "rankboost";
    out.options = {{"rounds", "20"}};
    return out;
  }
};

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

TEST_CASE("A clicked result is preferred to every result that was not clicked", "[service][learning]") {
  const StoredSearch search = shown(4);
  const Click clicks[] = {click_at(1), click_at(3)};
  const auto pairs = click_pairs(search, clicks, {}, kNewYear);
  REQUIRE(pairs.size() == 4);
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> expected = {{0, 1}, {2, 1}, {0, 3}, {2, 3}};
  for (std::size_t i = 0; i < pairs.size(); ++i)
    CHECK(std::pair(pairs[i].below, pairs[i].above) == expected[i]);
  // Nothing is counted yet. The second result is assumed to be worth 1 / cbrt(2) = .7937 of the first and to
  // be looked at half as often. So a click on it that skipped the first weighs .4425 / .2841, and the
  // opposite one .5575 / .7159.
  CHECK(pairs[0].weight == Approx(1.5577).epsilon(1e-3));
  const Click first[] = {click_at(0)};
  CHECK(click_pairs(shown(2), first, {}, kNewYear)[0].weight == Approx(0.7787).epsilon(1e-3));
  CHECK(click_pairs(search, {}, {}, kNewYear).empty());
  std::vector<Click> all;
  for (std::uint32_t i = 0; i < 4; ++i) all.push_back(click_at(i));
  CHECK(click_pairs(search, all, {}, kNewYear).empty());
  const Click beyond[] = {click_at(6)};
  CHECK(click_pairs(search, beyond, {}, kNewYear).empty());
}

TEST_CASE("Both directions of two positions have the assumed or known weight", "[service][learning]") {
  // Of 1000 searches with two results, one in ten is clicked at the second only, or nearly all are.
  for (const int below : {100, 900}) {
    const auto total = [&](const PositionBias& bias, std::uint32_t clicked) {
      PositionBalance balance(bias);
      for (int i = 0; i < 1000; ++i) {
        const Click click[] = {click_at(i < below ? 1 : 0)};
        balance.add(shown(2), click);
      }
      return balance.factor(clicked, 1 - clicked) * (clicked == 1 ? below : 1000 - below);
    };
    CHECK(total({}, 1) / total({}, 0) == Approx(1 / std::cbrt(2.0)).epsilon(0.1));
    PositionBias bias;
    bias.looked_at = {1.0, 0.5};
    // With a known bias, a click on a position that only half of the users look at counts twice.
    CHECK(total(bias, 1) / total(bias, 0) == Approx(2.0 * below / (1000 - below)).epsilon(0.1));
  }
}

TEST_CASE("The position bias is estimated from results shown at several positions", "[service][learning]") {
  // Results of very different worth, each at two positions: they share only the ratio of the looking rates.
  const std::vector<double> looked_at = {1.0, 0.6, 0.4, 0.2};
  std::vector<Exposure> exposures;
  for (std::uint32_t a = 0; a < 4; ++a)
    for (std::uint32_t b = a + 1; b < 4; ++b)
      for (const double worth : {0.9, 0.5, 0.1}) {
        const std::string name = std::to_string(exposures.size());
        exposures.push_back({name, a, 300, 300 * worth * looked_at[a]});
        exposures.push_back({name, b, 100, 100 * worth * looked_at[b]});
      }
  const PositionBias bias = harvest_position_bias(exposures);
  REQUIRE(bias.looked_at.size() == 4);
  for (std::size_t k = 0; k < 4; ++k) CHECK(bias.at(k) == Approx(looked_at[k]));
  CHECK(bias.at(10) == bias.at(3));
  // Splitting and reordering the same data does not change the estimate.
  std::vector<Exposure> pieces;
  for (const Exposure& one : exposures)
    for (int half = 0; half < 2; ++half)
      pieces.insert(pieces.begin(), {one.result, one.position, one.shown / 2, one.clicks / 2});
  CHECK(harvest_position_bias(pieces).at(2) == Approx(bias.at(2)));
}

TEST_CASE("Too few clicks or results at only one position leave the bias unknown", "[service][learning]") {
  CHECK_FALSE(harvest_position_bias({}).is_known());
  CHECK(PositionBias().at(5) == 1.0);
  std::vector<Exposure> one_place;
  for (int i = 0; i < 50; ++i) one_place.push_back({"r" + std::to_string(i), 0, 100, 50});
  CHECK_FALSE(harvest_position_bias(one_place).is_known());
  CHECK_FALSE(harvest_position_bias({{"r", 0, 100, 50}, {"r", 1, 100, 20}}).is_known());
  // Positions that share no result with position 0, even indirectly, have no known bias.
  CHECK_FALSE(harvest_position_bias({{"r", 2, 1000, 500}, {"r", 3, 1000, 200}}).is_known());
  // The bias never rises, because users read from the top.
  CHECK(harvest_position_bias({{"r", 0, 1000, 300}, {"r", 1, 1000, 400}}).at(1) == 1.0);
}

TEST_CASE("Clicks decay by half-lives and the weight of one click is bounded", "[service][learning]") {
  const Click clicks[] = {click_at(0, 0.5, kNewYear)};
  const ClickRules rules{30, 10};
  const double fresh = click_pairs(shown(2), clicks, rules, kNewYear)[0].weight;
  CHECK(fresh == Approx(0.5 * rules.balance.factor(0, 1)));
  const auto later = [&](int days) {
    return click_pairs(shown(2), clicks, rules, kNewYear + days * kSecondsOfADay)[0].weight;
  };
  CHECK(later(30) == Approx(fresh / 2));
  CHECK(later(60) == Approx(fresh / 4));
  CHECK(later(-1) == fresh);
  const Click deep[] = {click_at(99)};
  const auto pairs = click_pairs(shown(100), deep, rules, kNewYear);
  REQUIRE(pairs.size() == 99);
  double sum = 0;
  for (const ClickPair& pair : pairs) sum += pair.weight;
  CHECK(sum == Approx(10));
}

TEST_CASE("A store is turned into a training set with the served features", "[service][learning]") {
  World world;
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

TEST_CASE("Clicks are trusted as far as held-out judgments agree with them", "[service][learning]") {
  const auto report_of = [](int grade_of_clicked) {
    World world;
    for (const std::string query : {"00000005", "00000001"})  // the second is held out
      for (int i = 0; i < 40; ++i) {
        const StoredSearch search = world.add_clicked(query);
        if (i > 0 || !is_held_out(query)) continue;
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
  CHECK(report_of(1).click_trust == 0.5);  // equal grades carry no information
}

TEST_CASE("An empty store gives nothing to learn from and says what to do", "[service][learning]") {
  World world;
  StoreTrainingOptions options;
  options.domain = "shoes";
  StoreTrainingReport report;
  REQUIRE(training_set_from_store(*world.store, options, &report).has_value());
  CHECK_FALSE(report.has_feedback());
  CHECK(report.too_little("shoes").find("judge or click") != std::string::npos);
}

TEST_CASE("One base query clicked again and again does not dominate the ranking", "[service][learning]") {
  World world;
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

TEST_CASE("Clicks on the worst order still teach which engine is best", "[service][learning]") {
  World world;
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
  World world;
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

TEST_CASE("Three in ten base queries are held out", "[service][learning]") {
  int held = 0;
  for (int i = 0; i < 10000; ++i)
    held += is_held_out(query_digest("s", "d", {{{"Q", std::to_string(i)}}})) ? 1 : 0;
  CHECK(std::abs(held - 3000) < 140);
}

TEST_CASE("A list that a search did not ask for is noted as such", "[service][learning]") {
  World world;
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
  World world;
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

TEST_CASE("A model of a domain also learns from what people judged of the same lists elsewhere",
          "[service][learning]") {
  World world;
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
  World world;
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

// One result at the first and at the second place. Each search was shown ten times and clicked five times, so
// both places are looked at alike. If the limit leaves out the clicks of the earlier searches, these must not
// count as shown without clicks.
TEST_CASE("The position bias is estimated from searches whose clicks are known", "[service][learning]") {
  World world;
  constexpr int kSearches = 50;
  const auto add = [&](int number, UnixTime at, std::vector<std::uint32_t> order) {
    StoredSearch search = sample_search("shoes", at);
    search.times = 10;
    search.shown.clear();
    for (const std::uint32_t document : order) search.shown.push_back({document, Team::none});
    REQUIRE(world.store->searches.add({&search, 1}).has_value());
    for (int i = 0; i < 5; ++i) {
      Click click = click_at(order[0] == 0 ? 0 : 1, 1, at + 1);
      click.search = delivered_id("secret", search.id, std::to_string(number) + ' ' + std::to_string(i));
      click.domain = "shoes";
      REQUIRE(world.store->clicks.add(click, world.no_caps).has_value());
    }
  };
  for (int i = 0; i < kSearches; ++i) {
    add(i, kNewYear + 10 * i, {1, 0});
    add(i, kNewYear + 10 * i + 5, {0, 1});
  }
  // the first half of the early time has no clicks within the limit of 400
  for (int i = 0; i < kSearches; ++i) add(i, kNewYear - 1000 - 10 * i, {1, 0});
  const PositionBias bias = position_bias_of(*world.store, "shoes", 0, 400).value();
  REQUIRE(bias.is_known());
  CHECK(bias.at(1) == Approx(1.0).epsilon(0.05));
}

TEST_CASE("A domain that selects lists learns which ones to ask first", "[service][learning]") {
  World world;
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

TEST_CASE("The position bias needs two hundred clicks and five at each of two positions",
          "[service][learning]") {
  const auto is_known = [](double upper, double lower) {
    return harvest_position_bias({{"r", 0, 1000, upper}, {"r", 1, 1000, lower}}).is_known();
  };
  CHECK(is_known(150, 50));
  CHECK_FALSE(is_known(150, 49));
  CHECK(is_known(195, 5));
  CHECK_FALSE(is_known(200, 4));
  CHECK(is_known(5, 195));
  CHECK_FALSE(is_known(4, 200));
  // the last position that an estimate covers, and the first that it does not
  const auto last = static_cast<std::uint32_t>(kBiasPositions - 1);
  CHECK(harvest_position_bias({{"r", 0, 1000, 200}, {"r", last, 1000, 100}}).looked_at.size() ==
        kBiasPositions);
  CHECK_FALSE(harvest_position_bias({{"r", 0, 1000, 200}, {"r", last + 1, 1000, 100}}).is_known());
  // a result at three positions says something about each pair of them
  const PositionBias bias =
      harvest_position_bias({{"r", 0, 100, 100}, {"r", 1, 100, 60}, {"r", 2, 100, 40}, {"s", 1, 100, 6}});
  REQUIRE(bias.looked_at.size() == 3);
  CHECK(bias.clicks == 200);
  CHECK(bias.at(1) == Approx(0.6));
  CHECK(bias.at(2) == Approx(0.4));
}

TEST_CASE("A click on a place that the search does not have teaches nothing", "[service][learning]") {
  const ClickRules rules{30, 10};
  const Click last[] = {click_at(2)};
  const Click beyond[] = {click_at(3)};
  CHECK(click_pairs(shown(3), last, rules, kNewYear).size() == 2);
  CHECK(click_pairs(shown(3), beyond, rules, kNewYear).empty());
  PositionBalance with, without;
  with.add(shown(3), beyond);
  CHECK(with.factor(1, 0) == without.factor(1, 0));
  with.add(shown(3), last);
  CHECK(with.factor(2, 0) != without.factor(2, 0));
}
