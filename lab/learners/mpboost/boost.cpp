#include "lab/learners/mpboost/boost.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "fusion/data/fused_order.h"
#include "fusion/data/thresholds.h"
#include "fusion/learners/common/feedback_grades.h"
#include "fusion/learners/common/rounds.h"
#include "lab/learners/mpboost/weights.h"

namespace metafuse::lab::mpboost {

namespace {

// If the pairs that a stump separates weigh less than this share of all pairs, their weight is a
// rounding error.
constexpr double kNoPairs = 1e-12;
// A decrease of the squared error (as a share of the weights) below kNoGain counts as none; gains within
// kTieShare of the best tie with it.
constexpr double kNoGain = 1e-12;
constexpr double kTieShare = 1e-9;
constexpr std::size_t kMostHalvings = 60;

struct Choice {
  std::size_t feature = 0;
  std::size_t level = 0;
  double value = 0.0;  ///< a of eq. (17)
  double gain = 0.0;   ///< decrease of the squared error of eq. (12), as a share of the weights
};

/// The stump with the least squared error. Ties are broken as in RankBoost: lowest feature, then
/// highest threshold.
Choice best_stump(const StumpSums& sums, double total) {
  const auto gain_of = [&](std::size_t f, std::size_t level) {
    const double weight = sums.denominator[f][level];
    if (weight <= kNoPairs * total) return 0.0;
    return sums.numerator[f][level] * sums.numerator[f][level] / (weight * total);
  };
  double best = 0.0;
  for (std::size_t f = 0; f < sums.numerator.size(); ++f)
    for (std::size_t level = 0; level < sums.numerator[f].size(); ++level)
      best = std::max(best, gain_of(f, level));
  for (std::size_t f = 0; f < sums.numerator.size(); ++f)
    for (std::size_t level = sums.numerator[f].size(); level-- > 0;) {
      const double gain = gain_of(f, level);
      if (gain > 0.0 && gain >= best * (1.0 - kTieShare))
        return {f, level, sums.numerator[f][level] / sums.denominator[f][level], gain};
    }
  return {};
}

/// Checks that the table has every two grades of each query.
Result<void> check_table(const TrainingSet& set, const DistanceTable& table) {
  for (const QueryRange& query : set.queries) {
    const std::vector<double> grades = grades_of(set, query);
    for (auto low = grades.begin(); low != grades.end(); ++low)
      for (auto high = std::next(low); high != grades.end(); ++high)
        if (!table.contains({*low, *high}))
          return fail(
              Code::bad_data,
              fmt::format("the distance table has no line for the grades {} and {} of query {}; add a "
                          "line",
                          *low, *high, query.id));
  }
  return {};
}

template <class Weights>
class Rounds {
 public:
  Rounds(Weights& weights, const CodedFeatures& features, const std::vector<Feature>& kinds,
         const rankboost_plus::PairRows& pairs, const BoostOptions& options)
      : weights_(weights),
        features_(features),
        kinds_(kinds),
        pairs_(pairs),
        options_(options),
        scores_(features.document_count(), 0.0) {}

  BoostRun run(const RoundWatch& watch) {
    run_.mean_distance = weights_.mean_distance();
    run_.pair_count = weights_.pair_count();
    run_.stop_reason = "all rounds are done";
    if (run_.mean_distance > options_.most_mean_distance)
      run_.stop_reason = "mean |dist| is too large";
    else
      while (run_.rounds.size() < options_.rounds && step())
        if (watch && !watch(run_.rounds.back())) {
          run_.stop_reason = "stopped early";
          break;
        }
    return std::move(run_);
  }

 private:
  bool step() {
    const Choice choice = best_stump(weights_.stump_sums(), weights_.total());
    if (choice.gain <= kNoGain) {
      run_.stop_reason = "no weak ranking gains";
      return false;
    }
    const double before = weights_.total();
    const double taken = take(choice, before);
    if (taken == 0.0) {
      run_.stop_reason = "no step lowers the loss";
      return false;
    }
    BoostRound round;
    const double threshold =
        step_threshold(features_.thresholds(choice.feature), choice.level, kinds_[choice.feature].kind);
    round.weak_ranking = {static_cast<std::uint32_t>(choice.feature), threshold, 0.0, taken};
    round.z = weights_.total() / before;
    round.loss = weights_.total();
    const rankboost_plus::RankLosses losses = rankboost_plus::rank_losses(pairs_, scores_, options_.threads);
    round.misordered = losses.r1;
    round.ranking_loss = losses.r2;
    run_.rounds.push_back(round);
    return true;
  }

  /// Takes the stump's step, halved until the loss does not rise. Returns 0 if no step achieves that.
  double take(const Choice& choice, double before) {
    double step = options_.shrinkage * choice.value;
    std::vector<double> scores;
    for (std::size_t halvings = 0; halvings <= kMostHalvings; ++halvings, step *= 0.5) {
      scores = scores_;
      for (std::size_t x = 0; x < scores.size(); ++x)
        if (features_.code(x, choice.feature) > choice.level) scores[x] += step;
      if (!weights_.set_scores(scores) || weights_.total() > before) continue;
      scores_ = std::move(scores);
      run_.halvings += halvings;
      return step;
    }
    return 0.0;
  }

  Weights& weights_;
  const CodedFeatures& features_;
  const std::vector<Feature>& kinds_;
  const rankboost_plus::PairRows& pairs_;
  const BoostOptions& options_;
  std::vector<double> scores_;
  BoostRun run_;
};

}  // namespace

Result<BoostRun> boost_stumps(const TrainingSet& set, const BoostOptions& options, const RoundWatch& watch) {
  const bool is_factored = FactoredWeights::can_hold(set);
  TRY(const auto pairs,
      rankboost_plus::pair_rows(set, is_factored ? rankboost_plus::kAnyMemory : options.memory_mb << 20,
                                is_factored ? 0 : PairWeights::kPairBytes));
  const CodedFeatures features(set.matrix, ThresholdOptions{options.max_thresholds});
  if (options.table != nullptr) TRY_VOID(check_table(set, *options.table));
  if (is_factored) {
    FactoredWeights weights(set, features, options);
    return Rounds(weights, features, set.matrix.features(), pairs, options).run(watch);
  }
  PairWeights weights(set, features, pairs, options);
  BoostRun run = Rounds(weights, features, set.matrix.features(), pairs, options).run(watch);
  run.is_by_pairs = true;
  return run;
}

Result<Selection> select_on_validation(const TrainingSet& train, const TrainingSet& validate,
                                       const BoostOptions& options, const std::vector<double>& parameters) {
  constexpr std::size_t kDepth = 5;
  std::optional<Selection> best;
  // (mean |dist|, parameter)
  std::pair<double, double> closest{std::numeric_limits<double>::infinity(), 0.0};
  for (const double parameter : parameters) {
    BoostOptions trial = options;
    trial.parameter = parameter;
    if (parameters.size() > 1) trial.most_mean_distance = 1.0;
    std::vector<double> scores(validate.matrix.document_count(), 0.0);
    BestRound best_round(0);
    TRY(auto run, boost_stumps(train, trial, [&](const BoostRound& round) {
          add_to_scores(validate.matrix, round.weak_ranking, scores);
          return best_round.add(mean_ndcg(validate, scores, kDepth));
        }));
    closest = std::min(closest, {run.mean_distance, parameter});
    run.rounds.resize(best_round.rounds());
    Selection found{std::move(run), parameter, std::nullopt};
    if (!found.run.rounds.empty()) found.validation_ndcg = best_round.value();
    if (!best || found.validation_ndcg > best->validation_ndcg) best = std::move(found);
  }
  if (!best->validation_ndcg && closest.first > 1.0 && parameters.size() > 1)
    return select_on_validation(train, validate, options, {closest.second});
  return std::move(*best);
}

}  // namespace metafuse::lab::mpboost
