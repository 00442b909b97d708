#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/random.h"
#include "service/store/store.h"

namespace metafuse::service {

/// Two rankings of the same results drafted into one.
struct Interleaved {
  std::vector<std::size_t> order;
  std::vector<Team> teams;  ///< who placed each
};

/// Team-draft interleaving: in each round a coin says who picks first, and each side adds its best result
/// that is not there yet. Neither side can gain by where its results stand.
///
/// in:     champion, challenger - permutations of the same numbers, best first
/// cost:   O(results)
/// source: Radlinski, Kurup, Joachims 2008, algorithm 2
Interleaved team_draft(std::span<const std::size_t> champion, std::span<const std::size_t> challenger,
                       Random& random);

/// Whether a search is interleaved.
/// in:     share - of searches, 0 to 1
bool is_interleaved(double share, Random& random);

/// The running score of an interleaving.
struct InterleavingScore {
  InterleavingCounts counts;
  double challenger_share = 0.5;  ///< of the searches that one side won
  double low = 0;                 ///< Wilson's 95 % interval of it (Wilson 1927)
  double high = 1;
  double p = 1;  ///< two-sided sign test: exact up to 1000 decided searches, else normal

  /// Whether the interval lies on one side of one half.
  bool is_decided() const { return low > 0.5 || high < 0.5; }
};

InterleavingScore interleaving_score(const InterleavingCounts& counts);

}  // namespace metafuse::service
