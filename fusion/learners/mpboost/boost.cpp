#include "fusion/learners/mpboost/boost.h"

#include <algorithm>
#include <cmath>

#include "fusion/data/fused_order.h"
#include "fusion/data/thresholds.h"
#include "fusion/learners/common/early_stop.h"
#include "fusion/learners/mpboost/weights.h"

namespace metafuse::fusion::mpboost {

namespace {

// If the pairs that a stump separates weigh less than this share of all pairs, the weight is a rounding
// error.
constexpr double kNoPairs = 1e-12;
// A decrease of the squared error (as a share of the weights) below kNoGain counts as none; gains within
// kTieShare of the best tie with it.
constexpr double kNoGain = 1e-12;
constexpr double kTieShare = 1e-9;

struct Choice {
  std::size_t feature = 0;
  std::size_t level = 0;
  double value = 0.0;  ///< a of eq. (17)
  double gain = 0.0;   ///< by how much the squared error of eq. (12) falls, as a share of the weights
};

/// The stump of the least squared error; ties as in RankBoost: features ascending, thresholds from the
/// highest.
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

template <class Weights>
BoostRun run_rounds(Weights& weights, const CodedFeatures& features, const std::vector<Feature>& kinds,
                    const rankboost_plus::PairRows& pairs, const BoostOptions& options,
                    const RoundWatch& watch) {
  BoostRun run;
  run.mean_distance = weights.mean_distance();
  run.pair_count = weights.pair_count();
  std::vector<double> scores(features.document_count(), 0.0);
  run.stop_reason = "all rounds are done";
  while (run.rounds.size() < options.rounds) {
    const Choice choice = best_stump(weights.stump_sums(), weights.total());
    if (choice.gain <= kNoGain) {
      run.stop_reason = "no weak ranking gains";
      break;
    }
    for (std::size_t x = 0; x < scores.size(); ++x)
      if (features.code(x, choice.feature) > choice.level) scores[x] += choice.value;
    const double before = weights.total();
    if (!weights.set_scores(scores)) {
      run.stop_reason = "the weights of the pairs left the range of a double";
      break;
    }
    BoostRound round;
    const double threshold =
        step_threshold(features.thresholds(choice.feature), choice.level, kinds[choice.feature].kind);
    round.weak_ranking = {static_cast<std::uint32_t>(choice.feature), threshold, 0.0, choice.value};
    round.z = weights.total() / before;
    round.loss = weights.total();
    const rankboost_plus::RankLosses losses = rankboost_plus::rank_losses(pairs, scores, options.threads);
    round.misordered = losses.r1;
    round.ranking_loss = losses.r2;
    run.rounds.push_back(round);
    if (watch && !watch(round)) {
      run.stop_reason = "stopped early";
      break;
    }
  }
  return run;
}

}  // namespace

Result<BoostRun> boost_stumps(const TrainingSet& set, const BoostOptions& options, const RoundWatch& watch) {
  TRY(const auto pairs, rankboost_plus::pair_rows(set, static_cast<std::size_t>(-1)));
  const CodedFeatures features(set.matrix, ThresholdOptions{options.max_thresholds});
  if (FactoredWeights::can_hold(set)) {
    FactoredWeights weights(set, features, options.distance, options.parameter, options.threads);
    return run_rounds(weights, features, set.matrix.features(), pairs, options, watch);
  }
  TRY(auto weights, PairWeights::make(set, features, options));
  BoostRun run = run_rounds(weights, features, set.matrix.features(), pairs, options, watch);
  run.is_by_pairs = true;
  return run;
}

Result<Selection> select_on_validation(const TrainingSet& train, const TrainingSet& validate,
                                       const BoostOptions& options, const std::vector<double>& parameters) {
  constexpr std::size_t kDepth = 5;
  Selection best;
  best.validation_ndcg = -1.0;
  for (const double parameter : parameters) {
    BoostOptions trial = options;
    trial.parameter = parameter;
    std::vector<double> scores(validate.matrix.document_count(), 0.0);
    BestRound best_round(0);
    TRY(auto run, boost_stumps(train, trial, [&](const BoostRound& round) {
          add_to_scores(validate.matrix, round.weak_ranking, scores);
          return best_round.add(mean_ndcg(validate, scores, kDepth));
        }));
    if (best_round.rounds() == 0 || best_round.value() <= best.validation_ndcg) continue;
    run.rounds.resize(best_round.rounds());
    best = {std::move(run), parameter, best_round.value()};
  }
  return best;
}

}  // namespace metafuse::fusion::mpboost
