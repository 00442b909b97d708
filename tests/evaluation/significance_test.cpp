#include "evaluation/significance.h"

#include <catch2/catch.hpp>

using namespace metafuse;
using namespace metafuse::evaluation;

namespace {

// Student's sleep data (1908); R 4 prints p = 0.002833 (t) and 0.009091 (Wilcoxon, ties, one zero).
const std::vector<double> kFirst = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
const std::vector<double> kSecond = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

}  // namespace

TEST_CASE("Paired tests give published p values", "[evaluation][significance]") {
  CHECK(paired_t_test(kFirst, kSecond) == Approx(0.002833).margin(5e-7));
  CHECK(wilcoxon_test(kFirst, kSecond) == Approx(0.009091).margin(5e-7));
  // All nine differences that are not 0 have one sign: 2 of 2^9 sign patterns.
  CHECK(randomisation_test(kFirst, kSecond, 1) == Approx(2.0 / 512));
  CHECK(wilcoxon_test(std::vector<double>{1, 2, 3, 4, 5}, std::vector<double>(5, 0.0)) == Approx(0.0625));
}

TEST_CASE("Equal or too small samples are no evidence", "[evaluation][significance]") {
  const std::vector<double> one = {1.0};
  CHECK(paired_t_test(kFirst, kFirst) == 1.0);
  CHECK(wilcoxon_test(kFirst, kFirst) == 1.0);
  CHECK(randomisation_test(kFirst, kFirst, 1) == 1.0);
  CHECK(paired_t_test(one, std::vector<double>{0.0}) == 1.0);
  CHECK(paired_t_test({}, {}) == 1.0);
}

TEST_CASE("The drawn randomisation test agrees with the t test on many pairs and repeats by seed",
          "[evaluation][significance]") {
  Random random(5);
  std::vector<double> a;
  std::vector<double> b;
  for (int i = 0; i < 200; ++i) {
    a.push_back(random.normal() + 0.15);
    b.push_back(random.normal());
  }
  const double p = randomisation_test(a, b, 7);
  CHECK(p == Approx(paired_t_test(a, b)).margin(0.01));
  CHECK(p == randomisation_test(a, b, 7));
  const Interval interval = bootstrap_interval(a, 0.95, 3);
  CHECK(interval.low < 0.15);
  CHECK(interval.high > 0.15);
}

TEST_CASE("Corrections and Tukey's test", "[evaluation][significance]") {
  const std::vector<double> p = {0.01, 0.04, 0.03};
  const auto by_holm = holm(p);
  CHECK(by_holm[0] == Approx(0.03));
  CHECK(by_holm[1] == Approx(0.06));
  CHECK(by_holm[2] == Approx(0.06));
  CHECK(bonferroni(p)[1] == Approx(0.12));
  // One system far above two equal ones: its pairs are significant, theirs is not.
  std::vector<std::vector<double>> samples(3, std::vector<double>(20, 0.0));
  for (std::size_t i = 0; i < 20; ++i) samples[0][i] = 1.0 + 0.01 * static_cast<double>(i);
  const auto tukey = tukey_hsd(samples, 1, 2000);
  CHECK(tukey[0] < 0.01);
  CHECK(tukey[1] < 0.01);
  CHECK(tukey[2] == Approx(1.0));
}
