#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/random.h"
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
  double challenger_share = 0.5;  ///< share of the challenger's wins among searches that either side won
  double low = 0;                 ///< 95 % interval of challenger_share (Wilson 1927)
  double high = 1;
  double p = 1;  ///< two-sided sign test: exact up to 1000 decided searches, else normal

  /// Whether the interval is entirely above or below one half.
  bool is_decided() const { return low > 0.5 || high < 0.5; }
};

InterleavingScore interleaving_score(const InterleavingCounts& counts);

}  // namespace metafuse::service
