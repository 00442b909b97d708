#include "evaluation/measures/agreement.h"

#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace metafuse::evaluation;

// Two judges, 50 documents: both 1: 20, both 0: 15, only the first 1: 5, only the second 1: 10. 35 of 50 = .7
// are equal; by chance (25 30 + 25 20) / 50^2 = .5 would be, so kappa = (.7 - .5) / (1 - .5) = .4. With two
// grades every disagreement is one grade wide, so the weighted kappa is the same.
TEST_CASE("Cohen's kappa equals a worked example", "[evaluation][agreement]") {
  std::vector<std::pair<int, int>> grades;
  const auto add = [&](int count, int a, int b) {
    for (int i = 0; i < count; ++i) grades.emplace_back(a, b);
  };
  add(20, 1, 1);
  add(15, 0, 0);
  add(5, 1, 0);
  add(10, 0, 1);
  const JudgeAgreement agreement = judge_agreement(grades);
  CHECK(agreement.documents == 50);
  CHECK(agreement.share_equal == Approx(0.7));
  CHECK(agreement.kappa == Approx(0.4));
  CHECK(agreement.weighted_kappa == Approx(0.4));
}

// Grades (0,0) (1,2) (2,1) (4,4): half are equal. Both judges give 0, 1, 2 and 4 once each. By chance a
// quarter would be equal, so kappa = (.5 - .25) / .75 = 1/3. Squared distances observed: 0 + 1 + 1 + 0 = 2.
// Expected: the sum over all 16 pairs / 4. Distances of {0,1,2,4}: 2 (1 + 4 + 16 + 1 + 9 + 4) = 70; / 4 =
// 17.5. Weighted kappa = 1 - 2 / 17.5.
TEST_CASE("The weighted kappa counts near misses less", "[evaluation][agreement]") {
  const std::vector<std::pair<int, int>> grades = {{0, 0}, {1, 2}, {2, 1}, {4, 4}};
  const JudgeAgreement agreement = judge_agreement(grades);
  CHECK(agreement.kappa == Approx(1.0 / 3));
  CHECK(agreement.weighted_kappa == Approx(1 - 2 / 17.5));
}

TEST_CASE("Kappa has defined values in edge cases", "[evaluation][agreement]") {
  CHECK(judge_agreement({}).documents == 0);
  CHECK(judge_agreement({}).kappa == 0.0);
  const std::vector<std::pair<int, int>> same = {{3, 3}, {3, 3}};
  CHECK(judge_agreement(same).kappa == 1.0);
  const std::vector<std::pair<int, int>> opposite = {{0, 1}, {1, 0}};
  CHECK(judge_agreement(opposite).kappa == -1.0);
}

TEST_CASE("Kappa of as many grades as documents takes linear time", "[evaluation][agreement]") {
  constexpr int kDocuments = 500'000;  // by a sum over all pairs of grades this takes longer than a test may
  std::vector<std::pair<int, int>> grades;
  for (int i = 0; i < kDocuments; ++i) grades.emplace_back(i, kDocuments - 1 - i);
  const JudgeAgreement agreement = judge_agreement(grades);
  CHECK(agreement.kappa == Approx(0.0).margin(1e-5));
  CHECK(agreement.weighted_kappa == Approx(-1.0));
}
