#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "core/result.h"
#include "service/config/snapshot.h"
#include "service/learning/model_comparison.h"
#include "service/search/search_answer.h"
#include "service/store/model_versions.h"
#include "service/store/store.h"

namespace metafuse::service {

/// Two rankings of the same results, drafted into one.
struct Interleaved {
  std::vector<std::size_t> order;
  std::vector<Team> teams;  ///< which side placed each result
};

/// Team-draft interleaving: in each round a coin decides which side picks first, and each side adds its best
/// result that is not yet included. Neither side gains an advantage from the positions of its results.
///
/// in:     champion, challenger - permutations of the same numbers, best first
/// cost:   O(results)
/// source: Radlinski, Kurup, Joachims 2008, algorithm 2
Interleaved team_draft(std::span<const std::size_t> champion, std::span<const std::size_t> challenger,
                       Random& random);

/// Draws whether a search is interleaved.
///
/// in: share - of searches, 0 to 1
bool is_interleaved(double share, Random& random);

/// The current score of an interleaving comparison.
struct InterleavingScore {
  InterleavingCounts counts;
  double challenger_share = 0.5;  ///< share of the challenger's wins among drafts that either side won
  double low = 0;                 ///< 95 % interval of challenger_share (Wilson 1927)
  double high = 1;
  double p = 1;  ///< two-sided sign test: exact up to 1000 decided drafts, else normal
};

InterleavingScore interleaving_score(const InterleavingCounts& counts);

/// The seed that decides whether a search is interleaved and how its coins fall. It depends only on the
/// search's key and the hour, so that the pages of one search fit together. All who ask the same within the
/// hour therefore see one draft, see InterleavingCounts.
std::uint64_t interleaving_seed(std::string_view key, UnixTime now);

/// The answer with its results drafted from the champion's and the challenger's orders.
///
/// in: domain - has a challenger; answer - in the champion's order
SearchAnswer interleaved_answer(const LoadedDomain& domain, const SearchAnswer& answer, std::uint64_t seed);

/// A domain's champion and challenger, and how they compare on live traffic.
struct DomainModels {
  std::string domain;
  ModelState state;
  std::optional<InterleavingScore> score;  ///< only with a challenger
  LearningStory story{};
};

Result<std::vector<DomainModels>> domain_models(std::span<const LoadedDomain* const> domains,
                                                ModelVersions& versions, Store& store);

}  // namespace metafuse::service
