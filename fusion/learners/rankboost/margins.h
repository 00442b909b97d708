#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion::rankboost {

/// How clearly a final ranking orders the crucial pairs of some judged queries. A pair's margin is
/// (H(x1) - H(x0)) / sum of |alpha|, within [-1, 1] and above 0 where the pair is ordered rightly; the margin
/// of a ranking is the least of its pairs'.
struct MarginReport {
  std::size_t pairs = 0;        ///< crucial pairs, of which the next has at most kMostPairs
  std::vector<double> margins;  ///< ascending
  std::vector<double> least;    ///< after each round: the ranking's margin
  std::vector<double> low;      ///< after each round: the margin that one pair in twenty does not exceed
  std::size_t best_rounds = 0;  ///< where `low` is greatest: what stopping by margin would choose

  static constexpr std::size_t kMostPairs = 100'000;  ///< beyond, every n-th pair is taken
};

/// in:     rankings - in the order of their rounds; set - its features are the model's
/// errors: bad_data: no crucial pair
/// cost:   O(rounds (documents + pairs taken))
/// source: Rudin, Schapire 2009, Margin-based ranking and an equivalence between AdaBoost and RankBoost, sec.
///         3
Result<MarginReport> margins_of(const TrainingSet& set, std::span<const WeakRanking> rankings);

std::string to_text(const MarginReport& report);
/// A page with the distribution of the margins and their course over the rounds.
std::string to_page(const MarginReport& report);

}  // namespace metafuse::fusion::rankboost
