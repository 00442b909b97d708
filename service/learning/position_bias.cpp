#include "service/learning/position_bias.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

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
  TRY(const auto facts, store.latest_clicks(domain, from, limit));
  for (const ClickFact& fact : facts) ++clicks[{std::string(stored_id(fact.search)), fact.position}];
  std::vector<Exposure> exposures;
  if (static_cast<double>(facts.size()) < kFewestHarvestClicks) return PositionBias();
  TRY_VOID(store.latest_searches(domain, from, limit, [&](const StoredSearch& search) {
    for (std::uint32_t position = 0; position < std::min(search.shown.size(), kBiasPositions); ++position) {
      const auto found = clicks.find({search.id, position});
      const double own = found == clicks.end() ? 0.0 : found->second;
      const double shown = std::max(own, static_cast<double>(search.times));
      exposures.push_back(
          {search.query + ' ' + search.documents[search.shown[position].document], position, shown, own});
    }
  }));
  return harvest_position_bias(std::move(exposures));
}

}  // namespace metafuse::service
