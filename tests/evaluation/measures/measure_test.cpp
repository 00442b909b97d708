#include "evaluation/measures/measure.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <catch2/catch.hpp>

#include "core/random.h"

using namespace metafuse;
using namespace metafuse::evaluation;

namespace {

double value_of(const std::string& name, const JudgedRanking& ranking, const Rules& rules = {}) {
  const auto set = parse_measures(name);
  REQUIRE(set.has_value());
  REQUIRE(set->size() == 1);
  return evaluate(*set, ranking, rules)[0];
}

// Retrieved: grades 2, 0, 1 and a document without a judgment. Another document of grade 1 was not retrieved.
JudgedRanking example() {
  return {{2, 0, 1, kNotPooled}, {}, {{0, 1}, {1, 2}, {2, 1}}};
}

Rules rules_of(Mode mode) {
  Rules rules;
  rules.mode = mode;
  return rules;
}

struct TiedExample {
  std::vector<int> grades;
  std::vector<double> scores;
};

/// Means over all orders that the scores allow, directly from the definitions of sec. 6.2.4.
std::vector<double> by_enumeration(const TiedExample& item) {
  const std::size_t n = item.grades.size();
  const int top = std::max(1, *std::max_element(item.grades.begin(), item.grades.end()));
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<double> sums(3, 0.0);
  double orders = 0.0;
  do {
    bool is_allowed = true;
    for (std::size_t i = 1; i < n; ++i)
      is_allowed = is_allowed && item.scores[order[i - 1]] >= item.scores[order[i]];
    if (!is_allowed) continue;
    orders += 1.0;
    double found = 0.0;
    double precision = 0.0;
    double last = 0.0;
    double first = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      if (item.grades[order[i]] < top) continue;
      found += 1.0;
      last = found / static_cast<double>(i + 1);
      if (found == 1.0) first = last;
      precision += last;
    }
    if (found == 0.0) continue;
    sums[0] += precision / found;
    sums[1] += first;
    sums[2] += last;
  } while (std::next_permutation(order.begin(), order.end()));
  for (double& sum : sums) sum /= orders;
  return sums;
}

double loss_by_pairs(const TiedExample& item) {
  double wrong = 0.0;
  double pairs = 0.0;
  for (std::size_t i = 0; i < item.grades.size(); ++i)
    for (std::size_t j = 0; j < item.grades.size(); ++j) {
      if (item.grades[i] <= item.grades[j]) continue;
      pairs += 1.0;
      wrong += item.scores[i] < item.scores[j] ? 1.0 : item.scores[i] == item.scores[j] ? 0.5 : 0.0;
    }
  return pairs > 0.0 ? wrong / pairs : 0.0;
}

}  // namespace

TEST_CASE("Measures give the values of a worked example", "[evaluation][measure]") {
  const JudgedRanking r = example();
  CHECK(value_of("map", r) == Approx((1.0 + 2.0 / 3) / 3));
  CHECK(value_of("recip_rank", r) == 1.0);
  CHECK(value_of("P_10", r) == Approx(0.2));
  CHECK(value_of("recall_2", r) == Approx(1.0 / 3));
  CHECK(value_of("Rprec", r) == Approx(2.0 / 3));
  CHECK(value_of("bpref", r) == Approx(1.0 / 3));
  CHECK(value_of("ndcg", r) == Approx((2 + 0.5) / (2 + 1 / std::log2(3) + 0.5)));
  CHECK(value_of("ndcg_cut_2", r) == Approx(2 / (2 + 1 / std::log2(3))));
  CHECK(value_of("ndcg.2=4", r) == Approx((4 + 0.5) / (4 + 1 / std::log2(3) + 0.5)));
  CHECK(value_of("ndcg_burges_10", r) == Approx((3 + 1 / std::log2(3)) / (4 + 1 / std::log2(3))));
  CHECK(value_of("top_1", r) == 1.0);
  CHECK(value_of("avg_rank_31", {{0, 0}, {}, {{0, 2}, {1, 1}}}) == 31.0);
  CHECK(value_of("judged_10", r) == Approx(0.75));
  CHECK(value_of("unj_10", r) == Approx(0.1));
  Rules rules;
  rules.top_grade = 2;
  CHECK(value_of("err_20", r, rules) == Approx(0.75 + 0.25 * 0.25 / 3));
  CHECK(value_of("err_20", r, rules_of(Mode::gdeval)) == Approx(3.0 / 16 + (13.0 / 16) * (1.0 / 16) / 3));
  CHECK(value_of("ndcg_cut_20", r, rules_of(Mode::gdeval)) == Approx(3.5 / (3 + 1 / std::log2(3) + 0.5)));
}

TEST_CASE("A grade above the highest stops a reader for certain and no more", "[evaluation][measure]") {
  Rules rules;
  rules.top_grade = 2;
  const JudgedRanking higher{{5, 2, 5}, {}, {{2, 1}, {5, 2}}};
  CHECK(value_of("err_10", higher, rules) == 1.0);
  rules.top_grade = 2000;  // 2^grade is limited, also in the highest grade's share
  CHECK(value_of("err_10", {{2000}, {}, {{2000, 1}}}, rules) == 1.0);
}

TEST_CASE("Grades too large for a whole number are the largest that is counted", "[evaluation][measure]") {
  const std::vector<double> grades{4294967297.0, 1e300, -5.0, 1.4};
  const std::vector<std::uint32_t> order{0, 1, 2, 3};
  CHECK(judged_ranking(grades, order).grades == std::vector<int>{1'000'000'000, 1'000'000'000, 0, 1});
}

TEST_CASE("Each LETOR mode has its own rule for lists shorter than the cutoff", "[evaluation][measure]") {
  const JudgedRanking r = example();
  const double burges = (3 + 1 / std::log2(3)) / (4 + 1 / std::log2(3));
  CHECK(value_of("ndcg_cut_4", r, rules_of(Mode::letor4)) == Approx(burges));
  CHECK(value_of("ndcg_cut_10", r, rules_of(Mode::letor4)) == 0.0);
  CHECK(value_of("ndcg_cut_10", r, rules_of(Mode::letor3)) == 0.0);
  CHECK(value_of("ndcg_cut_10", r, rules_of(Mode::mslr)) == Approx(burges));
  CHECK(value_of("P_10", r, rules_of(Mode::letor4)) == Approx(0.2));
  CHECK(value_of("P_10", r, rules_of(Mode::letor3)) == 0.0);
  // Positions 1 and 2: 3/3 and 3/4; from position 3 on the ideal is 4 + 1/log2(3).
  CHECK(value_of("mean_ndcg", r, rules_of(Mode::letor4)) == Approx((1 + 0.75 + 2 * burges) / 4));
}

TEST_CASE("Expectations over ties agree with the enumeration of all orders", "[evaluation][measure]") {
  Random random(21);
  for (int trial = 0; trial < 150; ++trial) {
    TiedExample item;
    const std::size_t n = 1 + random.below(6);
    for (std::size_t i = 0; i < n; ++i) {
      item.grades.push_back(static_cast<int>(random.below(3)));
      item.scores.push_back(static_cast<double>(random.below(3)));
    }
    const std::vector<double> grades(item.grades.begin(), item.grades.end());
    const JudgedRanking ranking = judged_ranking(grades, order_by_score(item.scores), item.scores);
    const auto want = by_enumeration(item);
    CHECK(value_of("expected_ap", ranking) == Approx(want[0]).margin(1e-10));
    CHECK(value_of("prot", ranking) == Approx(want[1]).margin(1e-10));
    CHECK(value_of("coverage", ranking) == Approx(want[2]).margin(1e-10));
    CHECK(value_of("ranking_loss", ranking) == Approx(loss_by_pairs(item)).margin(1e-12));
  }
}

TEST_CASE("The expected average precision of a long tie takes linear time", "[evaluation][measure]") {
  // Half of n tied documents are good. Place l is good with probability 1/2, and then each of the l - 1
  // documents above it with q = (n/2 - 1)/(n - 1). So the mean is that of (1 + (l - 1) q)/l over all places,
  // which is q + (1 - q) H_n/n.
  constexpr std::size_t kDocuments =
      400'000;  // by one sum per good document this takes longer than a test may
  JudgedRanking ranking;
  double harmonic = 0.0;
  for (std::size_t i = 0; i < kDocuments; ++i) {
    ranking.grades.push_back(static_cast<int>(i % 2));
    ranking.scores.push_back(0.0);
    harmonic += 1.0 / static_cast<double>(i + 1);
  }
  ranking.judged = {{0, kDocuments / 2}, {1, kDocuments / 2}};
  const double n = kDocuments;
  const double q = (n / 2 - 1) / (n - 1);
  CHECK(value_of("expected_ap", ranking) == Approx(q + (1 - q) * harmonic / n));
}

TEST_CASE("As many grades as documents take linear time", "[evaluation][measure]") {
  // By looking through all grades for each document this takes longer than a test may.
  std::vector<double> grades;
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 1'000'000; i > 0; --i) {
    grades.push_back(i);
    order.push_back(1'000'000 - i);
  }
  const JudgedRanking ranking = judged_ranking(grades, order);
  REQUIRE(ranking.judged.size() == 1'000'000);
  CHECK(ranking.judged.front() == GradeCount{1, 1});
  CHECK(value_of("ndcg", ranking) == Approx(1.0));
}

TEST_CASE("Gains by grade have the values of worked examples", "[evaluation][measure]") {
  // Gains 5, 0 and 1 at ranks 1, 2 and 3 of the four; ideal: 5, 1, 1.
  const double ideal = 5 + 1 / std::log2(3) + 0.5;
  CHECK(value_of("ndcg.2=5", example()) == Approx((5 + 0.5) / ideal));
  CHECK(value_of("ndcg.2=5,7=9", example()) == Approx((5 + 0.5) / ideal));  // nobody has grade 7
  // Gains -1, 3 and 2 of grades 0, 1 and 2, from -1 to 3 scaled to 0, 1 and 3/4: ranks 1 and 3 count.
  CHECK(value_of("rbp.0=-1,1=3", example()) == Approx(0.1 * (0.75 + 0.81)));
}

TEST_CASE("Rank-biased precision of gains that are all equal and below 0 is 0", "[evaluation][measure]") {
  const JudgedRanking ranking{{0, 0}, {}, {{0, 2}}};
  CHECK(value_of("rbp.0=-5", ranking) == 0.0);
  CHECK(value_of("rbp.0=-5,1=2", ranking) == 0.0);
}

TEST_CASE("Every measure is finite on every small ranking", "[evaluation][measure]") {
  Random random(2);
  std::string names;
  for (const Measure& measure : all_measures()) names += measure.name + ",";
  const auto set = parse_measures(names);
  REQUIRE(set.has_value());
  for (int trial = 0; trial < 300; ++trial) {
    JudgedRanking ranking;
    const std::size_t n = random.below(6);
    std::vector<std::size_t> counts(4, 0);
    for (std::size_t i = 0; i < n; ++i) {
      ranking.grades.push_back(static_cast<int>(random.below(6)) - 2);
      if (ranking.grades.back() >= 0) ++counts[static_cast<std::size_t>(ranking.grades.back())];
    }
    for (int grade = 0; grade < 4; ++grade) {
      const std::size_t count = counts[static_cast<std::size_t>(grade)] + random.below(2);
      if (count > 0) ranking.judged.push_back({grade, count});
    }
    for (const Mode mode : {Mode::trec10, Mode::trec9, Mode::letor3, Mode::letor4, Mode::mslr, Mode::gdeval})
      for (const int level : {1, 2, 5}) {
        Rules rules = rules_of(mode);
        rules.relevance_level = level;
        for (const double value : evaluate(*set, ranking, rules)) CHECK(std::isfinite(value));
      }
  }
}

TEST_CASE("Names of measures are parsed like trec_eval's and mistakes are named", "[evaluation][measure]") {
  const auto names = [](std::string_view text, bool ordered = false) {
    return parse_measures(text, ordered)->names;
  };
  CHECK(names("P_10,map") == std::vector<std::string>{"P_10", "map"});
  CHECK(names("P.10,5,map", true) == std::vector<std::string>{"map", "P_5", "P_10"});
  CHECK(names("ndcg_cut.10,20") == std::vector<std::string>{"ndcg_cut_10", "ndcg_cut_20"});
  CHECK(names("utility.2,-1,0,0") == std::vector<std::string>{"utility_2,-1,0,0"});
  CHECK(names("utility.2,-1,0,0,utility.1,0,0,0", true).size() == 2);
  CHECK(parse_measures("P.5,mop").error().text.find("no measure \"mop\"") != std::string::npos);
  CHECK(names("iprec_at_recall..1,.25") ==
        std::vector<std::string>{"iprec_at_recall_0.10", "iprec_at_recall_0.25"});
  for (const char* bad : {"nonsense", "map_10", "P_0", "P_1.5", "P_x", "utility.1,2", "ndcg.1", ""}) {
    INFO(bad);
    const auto parsed = parse_measures(bad);
    REQUIRE(parsed.has_error());
    CHECK(parsed.error().code == Code::usage);
  }
}

TEST_CASE("Parameters of measures are accepted up to their limits", "[evaluation][measure]") {
  for (const char* good :
       {"P_1", "P_1000000000", "iprec_at_recall_0", "iprec_at_recall_1000000", "ndcg.1=1e100", "G.1=-1e100",
        "G.2147483647=1", "ndcg.-1=2", "rbp.p=0", "rbp.p=0.99", "rbp.1=2,p=0.5"}) {
    INFO(good);
    CHECK(parse_measures(good).has_value());
  }
  for (const char* bad : {"P_1000000001", "P_0.5", "iprec_at_recall_-0.1", "iprec_at_recall_1000001",
                          "ndcg.1=1e101", "G.1=-1e308", "rbp.p=1", "rbp.p=-0.1", "rbp_resid.p=5",
                          "set_F_1e200", "utility_1,1e300,0,0", "ndcg.foo=3", "ndcg.p=0.5", "ndcg.1.5=2",
                          "rbp.x=5", "rbp_resid.1=2", "ndcg.4294967297=-5", "G.-2147483649=1"}) {
    INFO(bad);
    CHECK(parse_measures(bad).has_error());
  }
}

TEST_CASE("The string of grades shows zero to nine and what is more or was not judged",
          "[evaluation][measure]") {
  JudgedRanking ranking;
  ranking.grades = {0, 9, 10, kUnjudged, kNotPooled, 1};
  CHECK(relstring_of(ranking, 5) == "'09>.-'");
  CHECK(relstring_of(ranking, 9) == "'09>.-1'");
  CHECK(relstring_of(ranking, 0) == "''");
}
