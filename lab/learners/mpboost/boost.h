#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/common/learner.h"
#include "fusion/model/weak_ranking.h"
#include "lab/learners/common/fusion_names.h"
#include "lab/learners/rankboost_plus/pair_rows.h"

namespace metafuse::lab::mpboost {

/// The directed distance functions of Zhu et al. 2009, sec. 3.2, and alternatives for comparison.
enum class Distance {
  binary,   ///< eq. (2)
  ldd,      ///< linear, eq. (6)
  logdd,    ///< logarithmic, eq. (7)
  logitdd,  ///< logistic, eq. (8)
  /// The same for all pairs: shows how much of MPBoost's gain is due to the size of its steps.
  constant,
  table,  ///< a table given by the user
};

/// The distance of a pair whose ratings differ by `difference` (higher minus lower, so positive).
///
/// in: parameter - alpha, lambda, beta or the constant; ignored for binary. Not for tables.
double directed_distance(Distance kind, double parameter, double difference);

/// The parameter used if none is given.
///
/// Differs from Zhu et al. 2009, fig. 2, where lambda is 3: on graded feedback this makes mean |dist| far
/// larger than 1, which violates condition (9), and boosting diverges.
double default_parameter(Distance kind);

/// The parameters tried on validation data; a single one if there is nothing to choose.
///
/// Differs from Zhu et al. 2009, whose lambdas go up to 10, for the same reason.
std::vector<double> parameter_grid(Distance kind);

std::string_view distance_name(Distance kind);

/// The user's distances, by the two grades of a pair, lower grade first.
using DistanceTable = std::map<std::pair<double, double>, double>;

/// Reads a file of lines `LOW HIGH DISTANCE`; a line that begins with `#` is a comment. DISTANCE is a
/// positive number, or a directed distance function with its parameter, such as `logdd:0.35`, which is
/// applied to HIGH - LOW. Functions may thus be mixed, which Zhu et al. 2009 propose as future work.
///
/// errors: no_input; bad_data, naming file and line: not three fields, LOW not below HIGH, a distance that is
///         not positive, two lines for the same grades
Result<DistanceTable> read_distance_table(const std::string& path);

struct BoostOptions {
  Distance distance = Distance::logitdd;
  double parameter = 0.5;
  std::shared_ptr<const DistanceTable> table;  ///< for Distance::table
  double shrinkage = 1.0;                      ///< share of each step that is taken, within (0, 1]
  std::size_t rounds = 200;
  std::size_t max_thresholds = static_cast<std::size_t>(-1);
  unsigned threads = 1;          ///< the result is the same bit for bit for any number
  std::size_t memory_mb = 1024;  ///< for enumerated pairs, which real-valued grades require
  /// Training is refused if the mean |dist| exceeds this.
  double most_mean_distance = std::numeric_limits<double>::infinity();

  /// The distance of a pair of two grades, low < high.
  double distance_of(double low, double high) const {
    if (table == nullptr) return directed_distance(distance, parameter, high - low);
    const auto found = table->find({low, high});
    return found == table->end() ? 1.0 : found->second;
  }
};

struct BoostRound {
  WeakRanking weak_ranking;   ///< alpha is the step; 0 for an unranked document
  double z = 1.0;             ///< eq. (13), at most 1
  double loss = 1.0;          ///< eq. (10) / number of pairs: the product of all z, theorem 1's bound
  double misordered = 0.0;    ///< left side of theorem 1; a tie costs 1
  double ranking_loss = 0.0;  ///< a tie costs 1/2
};

struct BoostRun {
  std::vector<BoostRound> rounds;
  std::string stop_reason;
  double mean_distance = 0.0;  ///< mean |dist| over the pairs; condition (9) asks for about 1
  std::size_t halvings = 0;    ///< of steps that would otherwise have raised the loss
  std::size_t pair_count = 0;
  bool is_by_pairs = false;  ///< whether pairs were enumerated
};

/// Called after each round; false stops the run.
using RoundWatch = std::function<bool(const BoostRound&)>;

/// MPBoost (Zhu et al. 2009, Algorithm 1). Each round chooses the stump with the least weighted squared
/// error, eqs. (17)-(19).
///
/// If the two grades of a pair determine d, its weight exp(-d (F_i - F_j)) is a product of a factor of i and
/// a factor of j. Then no pair is enumerated: a sweep over each query in feature order gives the sums of
/// every threshold. Pairs are enumerated if a query has more than 16 grades or if there are explicit pairs.
///
/// Differs from Zhu et al. 2009: a step whose Z exceeds 1 is halved until it does not. The second-order step
/// of eq. (12) is too long where |dist| is large, and would raise the loss.
///
/// errors: bad_data: no crucial pair, pairs that do not fit in memory_mb, or grades missing from the table
/// cost:   per round O(documents * features * grades), or O(pairs * features)
Result<BoostRun> boost_stumps(const TrainingSet& set, const BoostOptions& options,
                              const RoundWatch& watch = {});

/// A run, cut after the round that did best on validation data.
struct Selection {
  BoostRun run;
  double parameter = 1.0;
  std::optional<double> validation_ndcg;  ///< NDCG@5; nothing if there was no round to measure
};

/// Trains once per parameter, and keeps the parameter and number of rounds with the highest NDCG@5 on
/// `validate` (Zhu et al. 2009, sec. 5.2). Ties go to the earlier parameter and to fewer rounds. If there are
/// several parameters, those with a mean |dist| above 1 are skipped because of condition (9); if all are, the
/// one with the smallest mean is used. If no parameter gives a round, the first one's empty run is kept.
///
/// in:     parameters - one at least
/// errors: those of boost_stumps
/// cost:   parameters * training
Result<Selection> select_on_validation(const TrainingSet& train, const TrainingSet& validate,
                                       const BoostOptions& options, const std::vector<double>& parameters);

/// The learner MPBoost.
Learner learner();

}  // namespace metafuse::lab::mpboost
