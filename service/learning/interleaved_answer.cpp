#include "service/learning/interleaved_answer.h"

#include <charconv>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/contract.h"
#include "core/random.h"
#include "service/base/digest.h"
#include "service/learning/interleaving.h"
#include "service/search/list_fusion.h"

namespace metafuse::service {
namespace {

constexpr UnixTime kHour = 3600;

/// Positions of the answer's results in the challenger's order.
std::vector<std::size_t> challenger_order(const LoadedDomain& domain, const SearchAnswer& answer) {
  LoadedDomain challenger;
  challenger.domain = domain.domain;
  challenger.model = domain.challenger;
  challenger.syntax_of = domain.syntax_of;
  SearchAnswer other;
  other.typed = answer.typed;
  fuse_lists(challenger, answer.lists, other);
  std::unordered_map<std::string_view, std::size_t> position;
  for (std::size_t i = 0; i < answer.results.size(); ++i) position.emplace(answer.results[i].key, i);
  std::vector<std::size_t> order;
  for (const FusedResult& result : other.results) order.push_back(position.at(result.key));
  return order;
}

}  // namespace

std::uint64_t interleaving_seed(std::string_view key, UnixTime now) {
  const std::string digest = sha256_hex(std::string(key) + ' ' + std::to_string(now / kHour));
  std::uint64_t seed = 0;
  std::from_chars(digest.data(), digest.data() + 16, seed, 16);
  return seed;
}

SearchAnswer interleaved_answer(const LoadedDomain& domain, const SearchAnswer& answer, std::uint64_t seed) {
  require(domain.challenger.has_value(), "there is a challenger");
  Random random(seed);
  std::vector<std::size_t> champion(answer.results.size());
  std::iota(champion.begin(), champion.end(), std::size_t{0});
  Interleaved mixed = team_draft(champion, challenger_order(domain, answer), random);
  SearchAnswer out = answer;
  for (std::size_t i = 0; i < mixed.order.size(); ++i) {
    out.results[i] = answer.results[mixed.order[i]];
    // Clients that sort by it must get the drafted order.
    out.results[i].relative_score = answer.results[i].relative_score;
  }
  out.teams = std::move(mixed.teams);
  out.fusion.challenger = domain.challenger_version;
  return out;
}

}  // namespace metafuse::service
