#pragma once

// RankBoost+ and its relatives: their options, their rounds, and the boosting with and without enumerated
// crucial pairs.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fusion/learners/common/learner.h"
#include "fusion/learners/rankboost/feedback.h"
#include "lab/learners/rankboost_plus/pair_distribution.h"
#include "lab/learners/rankboost_plus/pair_rows.h"
#include "lab/learners/rankboost_plus/stump_table.h"

namespace metafuse::lab::rankboost_plus {

/// The four algorithms of Connamacher et al. 2020, and one of ours.
enum class Form {
  discrete,    ///< Rb-d: alpha by eq. (14), distribution by eq. (10)
  continuous,  ///< Rb-c: alpha by eq. (19), distribution by eq. (10)
  /// RankBoost+, Algorithm 2: descends only along members of an independent set.
  plus_efficient,
  plus_optimal,  ///< RankBoost+ that also descends along weak rankings dependent on the set
  pair_free,     ///< descends on an upper bound of F2 without pairs; see boost_pair_free()
};

/// With more candidates than this, reducing them to an independent set (cubic in their number) is left out by
/// default. Chosen candidates are then tested for independence one by one, which the Gram matrix makes cheap.
constexpr std::size_t kMostToPrune = 2000;

struct BoostOptions {
  Form form = Form::plus_efficient;
  std::size_t rounds = 100;
  bool is_halting = true;      ///< Rb-d stops if eq. (14) is undefined; else alpha is kept finite
  bool is_pruning = true;      ///< Algorithm 2 reduces the candidates to an independent set (line 14)
  bool has_all_losses = true;  ///< also measures E2 of Rb-d and Rb-c, over an independent set
  std::uint64_t seed = 1;
  unsigned threads = 1;  ///< the result is the same bit for bit for any number
};

/// One round: the chosen stump, and the losses after it.
struct BoostRound {
  std::size_t stump = 0;
  double alpha = 0.0;
  double accumulated = 0.0;  ///< weight of the stump before the round
  double delta = 0.0;        ///< the slope that made it the choice: -r, or eq. (33)
  Edges edges;
  double z = 1.0;
  double bound = 1.0;  ///< theorem 1 or 2: exp(-1/2 sum of delta^2), above R1 (Rb-d) or R2 (RankBoost+)
  RankLosses losses;
  double e2 = 0.0;  ///< negative if not measured
};

struct BoostRun {
  std::vector<BoostRound> rounds;
  std::string stop_reason;
  std::size_t independent = 0;  ///< size of the independent set over which E2 is measured
  std::size_t dependent = 0;    ///< candidates found to be dependent, by pruning or when chosen
};

/// Called after each round; false stops the run.
using RoundWatch = std::function<bool(const BoostRound&)>;

/// Boosts over the candidates of a table. Requires a form other than pair_free.
///
/// out:  the rounds up to options.rounds, a perfect weak ranking, no gain, or an undefined alpha
/// cost: per round a few passes over the pairs, one pass over documents * features, and one over the pairs
///       for each member whose slope could be the best; `plus_optimal` adds stumps * members and a line
///       search over the pairs
BoostRun boost_stumps(const StumpTable& stumps, const PairRows& pairs, const BoostOptions& options,
                      const RoundWatch& watch = {});

/// A variant of RankBoost+ that never enumerates a pair: it descends on an upper bound of F2 instead of
/// on F2.
///
/// For a tied pair, the product of cosh in F2 is at most the product over all weak rankings. Hence
///   F1(eta) <= F2(eta) <= U(eta) = F1(eta) prod_s cosh(eta_s).
/// log U has the slope tanh(eta_s) - r_s, for which RankBoost's potentials suffice. With the bound of eq.
/// (18) for Z, the step along s that lowers the bound of U most is
///   alpha = 1/4 ln((1 + r) / (1 - r)) - eta_s / 2,
/// half of Rb-c's for a new weak ranking. U never rises, and R1 <= F1 <= U bounds the loss.
/// docs/lab/rankboost_plus.md derives all this.
///
/// in:     coded - the features from which the table was made
/// out:    rounds with delta = tanh(eta) - r, z = the factor by which U changed, bound = U, e1 = F1, and R2;
///         R1 and E2 are negative (not measured), since they would require the pairs
/// cost:   O(documents * features + general pairs) per round
BoostRun boost_pair_free(const StumpTable& stumps, const CodedFeatures& coded,
                         const rankboost::Feedback& feedback, const BoostOptions& options,
                         const RoundWatch& watch = {});

std::string_view form_name(Form form);

/// The learner RankBoost+, with Rb-d and Rb-c as its other forms (Connamacher et al. 2020).
Learner learner();

// A slope this small is no gain. A criterion within this share of the best ties with it.
inline constexpr double kNoGain = 1e-12;
inline constexpr double kTieShare = 1e-9;

/// The first in search order whose criterion is within kTieShare of the best; -1 unless it exceeds `least`.
std::ptrdiff_t first_best(const std::vector<double>& criteria, double least = kNoGain);

}  // namespace metafuse::lab::rankboost_plus
