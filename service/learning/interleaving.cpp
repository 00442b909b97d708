#include "service/learning/interleaving.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <boost/math/distributions/binomial.hpp>
#include <fmt/format.h>

#include "core/contract.h"
#include "core/digest.h"
#include "core/keyed_hash.h"
#include "core/random.h"
#include "evaluation/significance/significance.h"
#include "service/search/list_fusion.h"

namespace metafuse::service {
namespace {

constexpr double kNormal975 = 1.959963984540054;
constexpr std::uint64_t kMostExact = 1000;

/// The two-sided sign test: twice the smaller tail of a fair coin, at most 1.
double exact_sign_test(std::uint64_t a, std::uint64_t b) {
  const boost::math::binomial_distribution<double> coin(static_cast<double>(a + b), 0.5);
  return std::min(1.0, 2 * boost::math::cdf(coin, static_cast<double>(std::min(a, b))));
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

namespace {

/// Positions of the answer's results in the challenger's order. It is the champion's answer that decides what
/// is a result and what is folded below one.
std::vector<std::size_t> challenger_order(const fusion::Model& challenger, const SearchAnswer& answer) {
  TextViewMap<std::size_t> position;
  for (std::size_t i = 0; i < answer.results.size(); ++i) {
    const FusedResult& result = answer.results[i];
    position.emplace(result.hit.key, i);
    for (const auto* folded : {&result.alike, &result.same_site})
      for (const Hit& hit : *folded) position.emplace(hit.key, i);
  }
  std::vector<bool> is_placed(answer.results.size());
  std::vector<std::size_t> order;
  const auto place = [&](std::size_t at) {
    if (!is_placed[at]) order.push_back(at);
    is_placed[at] = true;
  };
  // what is folded below a result counts as that result, at the better place
  for (const std::string_view key : keys_by(challenger, answer))
    if (const auto at = position.find(key); at != position.end()) place(at->second);
  for (std::size_t i = 0; i < answer.results.size(); ++i) place(i);
  return order;
}

}  // namespace

std::uint64_t interleaving_seed(std::string_view key, UnixTime now) {
  return digest_seed(fmt::format("{} {}", key, hour_of(now)));
}

SearchAnswer interleaved_answer(const LoadedDomain& domain, const SearchAnswer& answer, std::uint64_t seed) {
  require(domain.challenger.has_value(), "there is a challenger");
  Random random(seed);
  std::vector<std::size_t> champion(answer.results.size());
  std::iota(champion.begin(), champion.end(), std::size_t{0});
  Interleaved mixed = team_draft(champion, challenger_order(domain.challenger->model, answer), random);
  SearchAnswer out = answer;
  for (std::size_t i = 0; i < mixed.order.size(); ++i) {
    out.results[i] = answer.results[mixed.order[i]];
    // Clients that sort by it must get the drafted order.
    out.results[i].relative_score = answer.results[i].relative_score;
  }
  out.teams = std::move(mixed.teams);
  out.fusion.challenger = domain.challenger->version;
  return out;
}

Result<std::vector<DomainModels>> domain_models(std::span<const LoadedDomain* const> domains,
                                                ModelVersions& versions, Store& store) {
  std::vector<DomainModels> out;
  for (const LoadedDomain* domain : domains) {
    const std::string& name = domain->domain.name;
    TRY(auto state, versions.state(name));
    DomainModels models{name, std::move(state), std::nullopt};
    if (!models.state.challenger.empty()) {
      TRY(const auto counts,
          store.clicks.interleaving_counts(name, domain->served_version(), models.state.challenger));
      models.score = interleaving_score(counts);
    }
    TRY(models.story, learning_story(store, name, models.state));
    out.push_back(std::move(models));
  }
  return out;
}

}  // namespace metafuse::service
