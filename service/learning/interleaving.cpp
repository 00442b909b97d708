#include "service/learning/interleaving.h"

#include <algorithm>
#include <cmath>

#include "core/contract.h"
#include "evaluation/significance/significance.h"

namespace metafuse::service {
namespace {

constexpr double kNormal975 = 1.959963984540054;
constexpr std::uint64_t kMostExact = 1000;

/// The two-sided sign test: twice the smaller tail of a fair coin, at most 1. Terms are computed by
/// logarithms, because 2^-1000 alone would lose them.
double exact_sign_test(std::uint64_t a, std::uint64_t b) {
  const auto n = static_cast<double>(a + b);
  double tail = 0;
  for (std::uint64_t k = 0; k <= std::min(a, b); ++k) {
    const auto x = static_cast<double>(k);
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) - n * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

}  // namespace

Interleaved team_draft(std::span<const std::size_t> champion, std::span<const std::size_t> challenger,
                       Random& random) {
  require(champion.size() == challenger.size(), "interleaved rankings hold the same results");
  Interleaved out;
  const std::size_t most = champion.empty() ? 0 : *std::max_element(champion.begin(), champion.end());
  std::vector<bool> is_placed(most + 1, false);
  std::size_t next[2] = {0, 0};
  const std::span<const std::size_t> rankings[2] = {champion, challenger};
  const auto place = [&](std::size_t side) {
    while (next[side] < rankings[side].size() && is_placed[rankings[side][next[side]]]) ++next[side];
    if (next[side] == rankings[side].size()) return;
    const std::size_t result = rankings[side][next[side]];
    is_placed[result] = true;
    out.order.push_back(result);
    out.teams.push_back(side == 0 ? Team::champion : Team::challenger);
  };
  while (out.order.size() < champion.size()) {
    const std::size_t first = random.below(2);
    place(first);
    place(1 - first);
  }
  return out;
}

bool is_interleaved(double share, Random& random) {
  return random.uniform() < share;
}

InterleavingScore interleaving_score(const InterleavingCounts& counts) {
  InterleavingScore score;
  score.counts = counts;
  const std::uint64_t decided = counts.champion + counts.challenger;
  if (decided == 0) return score;
  const auto n = static_cast<double>(decided);
  const double share = static_cast<double>(counts.challenger) / n;
  const double z2 = kNormal975 * kNormal975;
  const double centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kNormal975 / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  score.challenger_share = share;
  score.low = std::max(0.0, centre - half);
  score.high = std::min(1.0, centre + half);
  if (decided <= kMostExact) {
    score.p = exact_sign_test(counts.champion, counts.challenger);
  } else {
    const double difference =
        std::abs(static_cast<double>(counts.challenger) - static_cast<double>(counts.champion));
    score.p = evaluation::normal_tail(std::max(0.0, difference - 1) / std::sqrt(n));
  }
  return score;
}

}  // namespace metafuse::service
