#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/mpboost/distance.h"
#include "fusion/learners/rankboost_plus/pair_rows.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion::mpboost {

struct BoostOptions {
  Distance distance = Distance::logitdd;
  double parameter = 0.5;
  std::shared_ptr<const DistanceTable> table;  ///< of Distance::table
  double shrinkage = 1.0;                      ///< share of each step that is taken, in (0, 1]
  std::size_t rounds = 200;
  std::size_t max_thresholds = static_cast<std::size_t>(-1);
  unsigned threads = 1;          ///< the same bytes for any number
  std::size_t memory_mb = 1024;  ///< for pairs one by one, which real-valued grades need
  /// Training does not begin when mean |dist| is above this.
  double most_mean_distance = std::numeric_limits<double>::infinity();

  /// dist of a pair of two grades, low < high.
  double distance_of(double low, double high) const {
    if (table == nullptr) return directed_distance(distance, parameter, high - low);
    const auto found = table->find({low, high});
    return found == table->end() ? 1.0 : found->second;
  }
};

struct BoostRound {
  WeakRanking weak_ranking;   ///< alpha is the step; an unranked document gets 0
  double z = 1.0;             ///< eq. (13), at most 1
  double loss = 1.0;          ///< eq. (10) over the number of pairs: the product of z, theorem 1's bound
  double misordered = 0.0;    ///< left side of theorem 1's bound: a tie costs 1
  double ranking_loss = 0.0;  ///< a tie costs 1/2
};

struct BoostRun {
  std::vector<BoostRound> rounds;
  std::string stop_reason;
  double mean_distance = 0.0;  ///< mean |dist| over the pairs; condition (9) asks for about 1
  std::size_t halvings = 0;    ///< of steps that would have raised the loss
  std::size_t pair_count = 0;
  bool is_by_pairs = false;  ///< pairs were enumerated
};

/// Called after each round; false stops the run.
using RoundWatch = std::function<bool(const BoostRound&)>;

/// MPBoost (Zhu et al. 2009, Algorithm 1): each round the stump of the least weighted squared error, eqs.
/// (17)-(19).
///
/// A pair's weight exp(-d (F_i - F_j)) is a product of a number of i and a number of j as soon as the two
/// grades fix d, so no pair is enumerated: a sweep of each query in feature order gives every threshold's
/// sums. With more than 16 grades in a query, or explicit pairs, pairs are enumerated.
///
/// Differs from Zhu et al. 2009: a step with Z above 1 is halved until it is not, because the second-order
/// step of eq. (12) is too long where |dist| is large, and the loss would rise.
///
/// errors: bad_data: no crucial pair, pairs that memory_mb cannot hold, or grades that the table does
///         not have
/// cost:   O(documents * features * grades) a round, or O(pairs * features)
Result<BoostRun> boost_stumps(const TrainingSet& set, const BoostOptions& options,
                              const RoundWatch& watch = {});

/// A run cut at the round that did best on validation data.
struct Selection {
  BoostRun run;
  double parameter = 1.0;
  double validation_ndcg = 0.0;  ///< NDCG@5
};

/// Trains once for each parameter and keeps the parameter and the number of rounds of the highest NDCG@5 on
/// `validate` (Zhu et al. 2009, sec. 5.2); ties go to the earlier parameter and the fewer rounds. Of several
/// parameters those with a mean |dist| above 1 are left out, by condition (9); if all are, that of the
/// smallest mean is taken.
///
/// errors: those of boost_stumps
/// cost:   parameters * training
Result<Selection> select_on_validation(const TrainingSet& train, const TrainingSet& validate,
                                       const BoostOptions& options, const std::vector<double>& parameters);

}  // namespace metafuse::fusion::mpboost
