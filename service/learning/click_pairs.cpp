#include "service/learning/click_pairs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "service/base/dates.h"

namespace metafuse::service {
namespace {

constexpr int kFitSteps = 1000;          // of the Gauss-Seidel iteration, which converges much earlier
constexpr double kLeastLookedAt = 0.01;  // so that a click counts for at most a hundred
constexpr double kFewestOfRatio = 5;     // clicks needed at each of two positions before their ratio counts

/// For two positions, the numerator and denominator of the common ratio over all results shown at both.
struct SharedClicks {
  double upper = 0;  ///< clicks at the upper position x share of the showings at the lower one
  double lower = 0;
  double upper_clicks = 0;
  double lower_clicks = 0;

  bool counts() const { return upper_clicks >= kFewestOfRatio && lower_clicks >= kFewestOfRatio; }
  /// log(looked at above / looked at below)
  double log_ratio() const { return std::log(upper / lower); }
  double weight() const { return 1.0 / (1.0 / upper_clicks + 1.0 / lower_clicks); }
};
using SharedTable = std::array<std::array<SharedClicks, kBiasPositions>, kBiasPositions>;

/// Adds one result's exposures `at`, one per position. Returns its clicks if it was shown at several
/// positions, else 0.
double add_shared_result(std::span<const Exposure> at, SharedTable& table) {
  double clicks = 0;
  for (const Exposure& exposure : at) clicks += exposure.clicks;
  if (at.size() < 2) return 0;
  for (std::size_t i = 0; i < at.size(); ++i)
    for (std::size_t j = i + 1; j < at.size(); ++j) {
      SharedClicks& shared = table[at[i].position][at[j].position];
      const double both = at[i].shown + at[j].shown;
      shared.upper += at[i].clicks * at[j].shown / both;
      shared.lower += at[j].clicks * at[i].shown / both;
      shared.upper_clicks += at[i].clicks;
      shared.lower_clicks += at[j].clicks;
    }
  return clicks;
}

/// The positions that ratios connect to the first one, directly or through others.
std::vector<bool> joined_to_first(const SharedTable& table) {
  std::vector<bool> is_joined(kBiasPositions, false);
  is_joined[0] = true;
  for (std::size_t step = 0; step < kBiasPositions; ++step)
    for (std::size_t i = 0; i < kBiasPositions; ++i)
      for (std::size_t j = i + 1; j < kBiasPositions; ++j)
        if (table[i][j].counts() && is_joined[i] != is_joined[j]) is_joined[i] = is_joined[j] = true;
  return is_joined;
}

/// The logarithms of the probabilities of looking that fit the ratios best, relative to the first position.
std::vector<double> fitted(const SharedTable& table, const std::vector<bool>& is_joined) {
  std::vector<double> logs(kBiasPositions, 0.0);
  for (int step = 0; step < kFitSteps; ++step)
    for (std::size_t k = 1; k < kBiasPositions; ++k) {
      if (!is_joined[k]) continue;
      double sum = 0;
      double weights = 0;
      for (std::size_t other = 0; other < kBiasPositions; ++other) {
        const SharedClicks& shared = other < k ? table[other][k] : table[k][other];
        if (other == k || !shared.counts()) continue;
        const double ratio = other < k ? -shared.log_ratio() : shared.log_ratio();
        sum += shared.weight() * (logs[other] + ratio);
        weights += shared.weight();
      }
      logs[k] = sum / weights;
    }
  return logs;
}

}  // namespace

double PositionBias::at(std::size_t position) const {
  return looked_at.empty() ? 1.0 : looked_at[std::min(position, looked_at.size() - 1)];
}

PositionBias harvest_position_bias(std::vector<Exposure> exposures) {
  std::erase_if(exposures, [](const Exposure& exposure) {
    return exposure.position >= kBiasPositions || !(exposure.shown > 0);
  });
  std::sort(exposures.begin(), exposures.end(), [](const Exposure& a, const Exposure& b) {
    return std::tie(a.result, a.position) < std::tie(b.result, b.position);
  });
  std::vector<Exposure> joined;
  for (Exposure& exposure : exposures) {
    if (!joined.empty() && joined.back().result == exposure.result &&
        joined.back().position == exposure.position) {
      joined.back().shown += exposure.shown;
      joined.back().clicks += exposure.clicks;
    } else {
      joined.push_back(std::move(exposure));
    }
  }
  const auto table = std::make_unique<SharedTable>();
  PositionBias out;
  for (std::size_t begin = 0, end = 0; begin < joined.size(); begin = end) {
    while (end < joined.size() && joined[end].result == joined[begin].result) ++end;
    out.clicks += add_shared_result(std::span(joined).subspan(begin, end - begin), *table);
  }
  const std::vector<bool> is_joined = joined_to_first(*table);
  const auto last = std::find(is_joined.rbegin(), is_joined.rend(), true);
  const auto known = static_cast<std::size_t>(is_joined.rend() - last);
  if (out.clicks < kFewestHarvestClicks || known < 2) return out;
  const std::vector<double> logs = fitted(*table, is_joined);
  // Users look from the top down: only noise makes a lower position seem looked at more often.
  double least = 1.0;
  for (std::size_t k = 0; k < known; ++k) {
    if (is_joined[k]) least = std::min(least, std::max(kLeastLookedAt, std::exp(logs[k])));
    out.looked_at.push_back(least);
  }
  return out;
}

Result<PositionBias> position_bias_of(Store& store, const std::string& domain, UnixTime from,
                                      std::size_t limit) {
  std::map<std::pair<std::string, std::uint32_t>, double> clicks;
  TRY(const auto facts, store.clicks.latest(domain, from, limit));
  for (const ClickFact& fact : facts) ++clicks[{std::string(stored_id(fact.search)), fact.position}];
  std::vector<Exposure> exposures;
  if (static_cast<double>(facts.size()) < kFewestHarvestClicks) return PositionBias();
  // where the limit left earlier clicks out, searches of that time would count as shown without clicks
  if (facts.size() == limit) from = facts.back().at + 1;
  TRY(const auto searches, store.searches.latest(domain, from, limit));
  for (const StoredSearch& search : searches)
    for (std::uint32_t position = 0; position < std::min(search.shown.size(), kBiasPositions); ++position) {
      const auto found = clicks.find({search.id, position});
      const double own = found == clicks.end() ? 0.0 : found->second;
      const double shown = std::max(own, static_cast<double>(search.times));
      exposures.push_back(
          {search.query + ' ' + search.documents[search.shown[position].document], position, shown, own});
    }
  return harvest_position_bias(std::move(exposures));
}

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

/// Which positions were clicked: 1 or 0 per result shown.
std::vector<std::uint8_t> clicked_positions(const StoredSearch& search, std::span<const Click> clicks) {
  std::vector<std::uint8_t> is_clicked(search.shown.size(), 0);
  for (const Click& click : clicks)
    if (click.position < is_clicked.size()) is_clicked[click.position] = 1;
  return is_clicked;
}

}  // namespace

PositionBalance::PositionBalance(PositionBias bias)
    : bias_(std::move(bias)), counts_(kBiasPositions * kBiasPositions, 0.0) {}

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
