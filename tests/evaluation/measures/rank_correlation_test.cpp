#include <algorithm>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "evaluation/measures/agreement.h"

using namespace metafuse;
using namespace metafuse::evaluation;

namespace {

using List = std::vector<std::string_view>;

double tau_by_pairs(const List& a, const List& b) {
  const auto place = [](const List& list, std::string_view id) {
    return std::find(list.begin(), list.end(), id) - list.begin();
  };
  double sum = 0.0;
  double pairs = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = i + 1; j < a.size(); ++j) {
      const auto x = place(b, a[i]);
      const auto y = place(b, a[j]);
      const auto end = static_cast<std::ptrdiff_t>(b.size());
      if (x == end || y == end) continue;
      pairs += 1.0;
      sum += x < y ? 1.0 : -1.0;
    }
  return pairs > 0.0 ? sum / pairs : 1.0;
}

}  // namespace

TEST_CASE("Kendall's tau counts pairs in the same order", "[evaluation][correlation]") {
  CHECK(kendall_tau(List{"a", "b", "c"}, List{"a", "b", "c"}) == 1.0);
  CHECK(kendall_tau(List{"a", "b", "c"}, List{"c", "b", "a"}) == -1.0);
  CHECK(kendall_tau(List{"a", "b", "c"}, List{"b", "a", "c"}) == Approx(1.0 / 3));
  CHECK(kendall_tau(List{"a"}, List{"b"}) == 1.0);
  Random random(8);
  for (int trial = 0; trial < 100; ++trial) {
    List a = {"a", "b", "c", "d", "e", "f", "g", "h"};
    List b = a;
    random.shuffle(a);
    random.shuffle(b);
    a.resize(random.below(9));
    b.resize(random.below(9));
    CHECK(kendall_tau(a, b) == Approx(tau_by_pairs(a, b)).margin(1e-12));
  }
}

TEST_CASE("Rank-biased overlap gives the values of worked examples", "[evaluation][correlation]") {
  CHECK(rank_biased_overlap(List{"a", "b"}, List{"a", "b"}) == Approx(1.0));
  CHECK(rank_biased_overlap(List{"a", "b"}, List{"c", "d"}) == 0.0);
  CHECK(rank_biased_overlap(List{}, List{"c"}) == 0.0);
  // X_1 = 0, X_2 = 2: (1 - p)/p (2/2 p^2) + (2/2) p^2 with p = 1/2.
  CHECK(rank_biased_overlap(List{"a", "b"}, List{"b", "a"}, 0.5) == Approx(0.25 + 0.25));
  // s = 1, l = 2, X_1 = X_2 = 1: (1 - p)/p (p + p^2/2 + (1/2) p^2) + p^2 (0 + 1).
  CHECK(rank_biased_overlap(List{"a"}, List{"a", "b"}, 0.5) == Approx(0.5 + 0.25 + 0.25));
}
