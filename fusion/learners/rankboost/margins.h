#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion::rankboost {

/// How clearly a final ranking orders the crucial pairs of judged queries. The margin of a pair is (H(x1) -
/// H(x0)) / sum of |alpha|. It lies in [-1, 1] and is positive if the pair is ordered correctly. The margin
/// of a ranking is the smallest margin of its pairs.
struct MarginReport {
  std::size_t pairs = 0;        ///< number of crucial pairs; `margins` has at most kMostPairs
  std::vector<double> margins;  ///< ascending
  std::vector<double> least;    ///< after each round: the ranking's margin
  std::vector<double> low;      ///< after each round: the 5 % quantile of the margins
  std::size_t best_rounds = 0;  ///< where `low` is greatest: the number that stopping by margin would choose

  static constexpr std::size_t kMostPairs = 100'000;  ///< if there are more, every n-th pair is taken
};

/// in:     rankings - in the order of the rounds; set - has the model's features
/// errors: bad_data: no crucial pair
/// cost:   O(documents log documents + rounds (documents + pairs taken))
/// source: Rudin, Schapire 2009, Margin-based ranking and an equivalence between AdaBoost and RankBoost,
///         sec. 3
Result<MarginReport> margins_of(const TrainingSet& set, std::span<const WeakRanking> rankings);

std::string to_text(const MarginReport& report);
/// An HTML page with the distribution of the margins and their course over the rounds.
std::string to_page(const MarginReport& report);

}  // namespace metafuse::fusion::rankboost
