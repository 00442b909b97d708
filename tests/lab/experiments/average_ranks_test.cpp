#include "lab/experiments/average_ranks.h"

#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

using namespace metafuse::lab::experiments;

// Demsar 2006, sec. 3.2.2: four algorithms on 14 data sets (one value is unrounded to give its rank). The
// average ranks are 3.143, 2.000, 2.893, 1.964, chi-square 9.28 without a correction for ties, and the
// critical difference of Nemenyi's test at .05 is 2.569 sqrt(4 * 5 / (6 * 14)) = 1.25.
TEST_CASE("Average ranks and the critical difference equal those of Demsar's example", "[experiments]") {
  const std::vector<std::vector<double>> auc = {
      {.763, .768, .771, .798},  {.599, .591, .590, .569}, {.954, .971, .968, .967}, {.628, .661, .654, .657},
      {.882, .888, .886, .898},  {.936, .931, .916, .931}, {.661, .668, .609, .685}, {.583, .583, .563, .625},
      {.775, .838, .866, .875},  {1.00, 1.00, 1.00, 1.00}, {.940, .962, .965, .962}, {.619, .666, .614, .669},
      {.972, .981, .9751, .975}, {.957, .978, .946, .970}};
  const RankComparison comparison = compare_ranks(auc, false);
  CHECK(comparison.average_ranks[0] == Approx(3.143).margin(5e-4));
  CHECK(comparison.average_ranks[1] == Approx(2.000).margin(5e-4));
  CHECK(comparison.average_ranks[2] == Approx(2.893).margin(5e-4));
  CHECK(comparison.average_ranks[3] == Approx(1.964).margin(5e-4));
  CHECK(comparison.critical_difference == Approx(1.25).margin(5e-3));
  CHECK(comparison.chi_square > 9.28);  // the correction for ties only raises it
  CHECK(comparison.p_value < 0.05);
  CHECK(!comparison.differ(0, 2));
}

TEST_CASE("Average ranks without ties give Friedman's statistic of a worked example", "[experiments]") {
  // Ranks 1 2 3, 1 2 3, 2 1 3: sums 4, 5, 9. 12 / (3*3*4) (16 + 25 + 81) - 3*3*4 = 14/3.
  const RankComparison comparison = compare_ranks({{1, 2, 3}, {4, 5, 9}, {2, 1, 3}}, true);
  CHECK(comparison.chi_square == Approx(14.0 / 3.0));
  CHECK(comparison.p_value == Approx(std::exp(-7.0 / 3.0)));
}

TEST_CASE("Ties everywhere and empty comparisons show no difference", "[experiments]") {
  const RankComparison tied = compare_ranks({{1, 1}, {2, 2}}, true);
  CHECK(tied.average_ranks == std::vector<double>{1.5, 1.5});
  CHECK(tied.p_value == 1.0);
  CHECK(!tied.differ(0, 1));
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK(compare_ranks({{infinite, infinite}}, true).average_ranks == std::vector<double>{1.5, 1.5});
  CHECK(compare_ranks({}, true).average_ranks.empty());
}

TEST_CASE("The chi-square tail agrees with tables", "[experiments]") {
  CHECK(chi_square_tail(3.841, 1) == Approx(0.05).margin(1e-4));
  CHECK(chi_square_tail(5.991, 2) == Approx(0.05).margin(1e-4));
  CHECK(chi_square_tail(7.815, 3) == Approx(0.05).margin(1e-4));
  CHECK(chi_square_tail(18.307, 10) == Approx(0.05).margin(1e-4));
  CHECK(chi_square_tail(0.0, 4) == 1.0);
}

TEST_CASE("Methods differ if their ranks differ by more than the critical difference", "[evaluation]") {
  RankComparison comparison;
  comparison.average_ranks = {1.0, 2.0};
  comparison.critical_difference = 1.0;
  CHECK_FALSE(comparison.differ(0, 1));
  comparison.critical_difference = 0.999;
  CHECK(comparison.differ(0, 1));
  CHECK(comparison.differ(1, 0));
  comparison.critical_difference = 0.0;  // unknown
  CHECK_FALSE(comparison.differ(0, 1));
  const auto of_methods = [](std::size_t methods) {
    std::vector<double> row;
    for (std::size_t m = 0; m < methods; ++m) row.push_back(static_cast<double>(m));
    return compare_ranks(std::vector<std::vector<double>>(50, row), true).critical_difference;
  };
  CHECK(of_methods(10) == Approx(3.164 * std::sqrt(110.0 / 300.0)).epsilon(0.001));
  CHECK(of_methods(11) == 0.0);
}
