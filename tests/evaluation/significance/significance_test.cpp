#include "evaluation/significance/significance.h"

#include <cmath>

#include <catch2/catch.hpp>

using namespace metafuse;
using namespace metafuse::evaluation;

namespace {

// Student's sleep data (1908); R 4 prints p = 0.002833 (t) and 0.009091 (Wilcoxon, ties, one zero).
const std::vector<double> kFirst = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
const std::vector<double> kSecond = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

}  // namespace

TEST_CASE("Paired tests give the published p values", "[evaluation][significance]") {
  CHECK(paired_t_test(kFirst, kSecond).value() == Approx(0.002833).margin(5e-7));
  CHECK(wilcoxon_test(kFirst, kSecond) == Approx(0.009091).margin(5e-7));
  // All nine nonzero differences have the same sign: 2 of 2^9 sign patterns.
  CHECK(randomisation_test(kFirst, kSecond, 1) == Approx(2.0 / 512));
  CHECK(wilcoxon_test(std::vector<double>{1, 2, 3, 4, 5}, std::vector<double>(5, 0.0)) == Approx(0.0625));
}

TEST_CASE("Paired tests agree with SciPy 1.10 on longer samples", "[evaluation][significance]") {
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> tied;  // differences with ties and a zero
  for (int i = 1; i <= 40; ++i) {
    a.push_back(std::fmod(i * i * 0.0137, 1.0));
    b.push_back(std::fmod(i * 0.6143, 1.0));
    tied.push_back((std::round(a.back() * 10) - std::round((b.back() * 0.8 + 0.02) * 10)) / 10);
  }
  const std::vector<double> zeros(40, 0.0);
  const auto first = [](const std::vector<double>& values, std::size_t count) {
    return std::span(values).first(count);
  };
  CHECK(paired_t_test(a, b).value() == Approx(0.8190306683715896).epsilon(1e-12));
  CHECK(wilcoxon_test(a, b) == Approx(0.6332438811693717).epsilon(1e-12));
  CHECK(wilcoxon_test(first(a, 20), first(b, 20)) == Approx(0.8408222198486328).epsilon(1e-12));
  CHECK(wilcoxon_test(tied, zeros) == Approx(0.09695473375602129).epsilon(1e-12));
  CHECK(randomisation_test(first(a, 12), first(b, 12), 1) == Approx(0.4697265625).epsilon(1e-12));
  CHECK(student_tail(0.5, 1) == Approx(0.7048327646991336).epsilon(1e-12));
  CHECK(student_tail(2.0, 10) == Approx(0.07338803477074039).epsilon(1e-12));
  CHECK(student_tail(4.5, 49) == Approx(4.1925684965140335e-05).epsilon(1e-10));
  CHECK(student_tail(30, 3) == Approx(8.135280427163967e-05).epsilon(1e-10));
}

TEST_CASE("Tukey's randomised test of two systems equals the paired randomisation test",
          "[evaluation][significance]") {
  Random random(8);
  std::vector<std::vector<double>> samples(2);
  for (int i = 0; i < 14; ++i) {
    samples[0].push_back(random.normal() + 0.5);
    samples[1].push_back(random.normal());
  }
  CHECK(tukey_hsd(samples, 3, 20000)[0] ==
        Approx(randomisation_test(samples[0], samples[1], 1)).margin(0.012));
}

TEST_CASE("Equal or too small samples are no evidence", "[evaluation][significance]") {
  const std::vector<double> one = {1.0};
  CHECK(paired_t_test(kFirst, kFirst) == 1.0);
  CHECK(wilcoxon_test(kFirst, kFirst) == 1.0);
  CHECK(randomisation_test(kFirst, kFirst, 1) == 1.0);
  CHECK(paired_t_test(one, std::vector<double>{0.0}) == 1.0);
  CHECK(paired_t_test({}, {}) == 1.0);
}

TEST_CASE("The t test gives no p value for equal differences, rounded or not", "[evaluation][significance]") {
  CHECK_FALSE(paired_t_test(std::vector<double>{1.0, 0.5}, std::vector<double>{0.5, 0.0}).has_value());
  // .3 - .2 and .9 - .8 differ in the last bits
  CHECK_FALSE(paired_t_test(std::vector<double>{0.3, 0.9}, std::vector<double>{0.2, 0.8}).has_value());
  CHECK(paired_t_test(std::vector<double>{0.3, 0.9}, std::vector<double>{0.3, 0.9}) == 1.0);
  CHECK(paired_t_test(std::vector<double>{0.3, 0.9001}, std::vector<double>{0.2, 0.8}) < 0.01);
}

TEST_CASE("The sampled randomisation test agrees with the t test and repeats by seed",
          "[evaluation][significance]") {
  Random random(5);
  std::vector<double> a;
  std::vector<double> b;
  for (int i = 0; i < 200; ++i) {
    a.push_back(random.normal() + 0.15);
    b.push_back(random.normal());
  }
  const double p = randomisation_test(a, b, 7);
  CHECK(p == Approx(paired_t_test(a, b).value()).margin(0.01));
  CHECK(p == randomisation_test(a, b, 7));
  const Interval interval = bootstrap_interval(a, 3);
  CHECK(interval.low < 0.15);
  CHECK(interval.high > 0.15);
}

TEST_CASE("Corrections and Tukey's test give the expected p values", "[evaluation][significance]") {
  const std::vector<double> p = {0.01, 0.04, 0.03};
  const auto by_holm = holm(p);
  CHECK(by_holm[0] == Approx(0.03));
  CHECK(by_holm[1] == Approx(0.06));
  CHECK(by_holm[2] == Approx(0.06));
  CHECK(bonferroni(p)[1] == Approx(0.12));
  // One system is far above two equal ones: its pairs are significant and their pair is not.
  std::vector<std::vector<double>> samples(3, std::vector<double>(20, 0.0));
  for (std::size_t i = 0; i < 20; ++i) samples[0][i] = 1.0 + 0.01 * static_cast<double>(i);
  const auto tukey = tukey_hsd(samples, 1, 2000);
  CHECK(tukey[0] < 0.01);
  CHECK(tukey[1] < 0.01);
  CHECK(tukey[2] == Approx(1.0));
}

TEST_CASE("The randomisation test is exact up to sixteen pairs and counts the observed order once",
          "[evaluation][significance]") {
  const auto p_of = [](std::size_t pairs) {
    return randomisation_test(std::vector<double>(pairs, 1.0), std::vector<double>(pairs, 0.0), 1);
  };
  CHECK(p_of(15) == 2.0 / 32768);
  CHECK(p_of(16) == 2.0 / 65536);
  // of 2^60 orders no draw is as extreme as the observed one
  CHECK(p_of(60) == 1.0 / 100'001);
}

TEST_CASE("A p value is at most one and an interval of negated numbers is the negated interval",
          "[evaluation][significance]") {
  // The ranks of both signs sum to 3, so that half of the tail is 5 of 8.
  CHECK(wilcoxon_test(std::vector<double>{1, 2, 0}, std::vector<double>{0, 0, 3}) == 1.0);
  const std::vector<double> sample{0.11, 0.92, 0.35, 0.48, 0.77, 0.63, 0.29};
  std::vector<double> negated;
  for (const double value : sample) negated.push_back(-value);
  for (const std::size_t trials : {40, 1000}) {
    const Interval interval = bootstrap_interval(sample, 5, trials);
    const Interval mirrored = bootstrap_interval(negated, 5, trials);
    CHECK(interval.low < interval.high);
    CHECK(mirrored.low == Approx(-interval.high).epsilon(1e-12));
    CHECK(mirrored.high == Approx(-interval.low).epsilon(1e-12));
  }
}
