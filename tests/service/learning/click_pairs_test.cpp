#include "service/learning/click_pairs.h"

#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/feedback_world.h"

using namespace metafuse;
using namespace metafuse::service;
using metafuse::test::click_at;
using metafuse::test::document_key;
using metafuse::test::FeedbackWorld;
using metafuse::test::kNewYear;
using metafuse::test::sample_search;

namespace {

constexpr std::int64_t kSecondsOfADay = 86400;

StoredSearch shown(std::size_t results) {
  StoredSearch search;
  for (std::uint32_t i = 0; i < results; ++i) {
    search.documents.push_back(document_key(static_cast<int>(i)));
    search.shown.push_back({i, Team::none});
  }
  return search;
}

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

// One result at the first and at the second place. Each search was shown ten times and clicked five times, so
// both places are looked at alike. If the limit leaves out the clicks of the earlier searches, these must not
// count as shown without clicks.
TEST_CASE("The position bias is estimated from searches whose clicks are known", "[service][learning]") {
  FeedbackWorld world;
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
