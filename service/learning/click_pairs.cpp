#include "service/learning/click_pairs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "service/base/dates.h"

namespace metafuse::service {
namespace {

constexpr double kCountsBefore = 10;  // the prior for two positions weighs as many counts as this

std::size_t table_place(std::size_t position) {
  return std::min(position, kBiasPositions - 1);
}

/// The prior relevance of results at a position, relative to the first position.
double believed(std::size_t position) {
  return 1.0 / std::cbrt(static_cast<double>(position + 1));
}

/// The share of a in a + b.
double share_of(double a, double b) {
  return a / (a + b);
}

}  // namespace

PositionBalance::PositionBalance(PositionBias bias)
    : bias_(std::move(bias)), counts_(kBiasPositions * kBiasPositions, 0.0) {}

std::vector<std::uint8_t> clicked_positions(const StoredSearch& search, std::span<const Click> clicks) {
  std::vector<std::uint8_t> is_clicked(search.shown.size(), 0);
  for (const Click& click : clicks)
    if (click.position < is_clicked.size()) is_clicked[click.position] = 1;
  return is_clicked;
}

void PositionBalance::add(const StoredSearch& search, std::span<const Click> clicks) {
  const auto is_clicked = clicked_positions(search, clicks);
  for (const Click& click : clicks) {
    if (click.position >= is_clicked.size()) continue;
    for (std::size_t other = 0; other < is_clicked.size(); ++other)
      if (is_clicked[other] == 0)
        counts_[table_place(click.position) * kBiasPositions + table_place(other)] += click.weight;
  }
}

/// The counted weight plus a prior from users who look at position k with probability 1/k.
double PositionBalance::count(std::size_t clicked, std::size_t other) const {
  const auto expected = [](std::size_t position) {
    return believed(position) / static_cast<double>(position + 1);
  };
  return counts_[clicked * kBiasPositions + other] +
         kCountsBefore * share_of(expected(clicked), expected(other));
}

double PositionBalance::factor(std::size_t clicked, std::size_t other) const {
  clicked = table_place(clicked);
  other = table_place(other);
  const double with = count(clicked, other);
  const double against = count(other, clicked);
  const double wanted = bias_.is_known() ? share_of(with / bias_.at(clicked), against / bias_.at(other))
                                         : share_of(believed(clicked), believed(other));
  return std::min(kLargestFactor, wanted / share_of(with, against));
}

std::vector<ClickPair> click_pairs(const StoredSearch& search, std::span<const Click> clicks,
                                   const ClickRules& rules, UnixTime now) {
  const auto is_clicked = clicked_positions(search, clicks);
  std::vector<ClickPair> pairs;
  for (const Click& click : clicks) {
    if (click.position >= is_clicked.size()) continue;
    const std::size_t first = pairs.size();
    double sum = 0;
    for (std::uint32_t other = 0; other < is_clicked.size(); ++other) {
      if (is_clicked[other] != 0) continue;
      const double factor = rules.balance.factor(click.position, other);
      sum += factor;
      pairs.push_back({search.shown[other].document, search.shown[click.position].document, factor});
    }
    const double age_days = std::max(0.0, static_cast<double>(now - click.at) / kSecondsPerDay);
    const double weight = click.weight * std::exp2(-age_days / rules.half_life_days) *
                          std::min(1.0, sum > 0 ? rules.most_of_click / sum : 1.0);
    for (std::size_t i = first; i < pairs.size(); ++i) pairs[i].weight *= weight;
  }
  return pairs;
}

}  // namespace metafuse::service
