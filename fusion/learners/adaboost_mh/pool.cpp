#include "fusion/learners/adaboost_mh/pool.h"

#include <algorithm>

#include "core/parallel.h"

namespace metafuse::fusion::adaboost_mh {

std::vector<std::vector<double>> votes_of(const Source& source, const FeatureMatrix& documents,
                                          const CodedRows& rows, std::span<const std::size_t> counts) {
  if (!source.is_other()) return source.classifier.votes(rows, counts);
  std::vector<double> votes = source.ranker->score(documents);
  const double span = source.high - source.low;
  for (double& vote : votes) vote = span > 0.0 ? 2.0 * (vote - source.low) / span - 1.0 : 0.0;
  return std::vector<std::vector<double>>(counts.size(), votes);
}

Pool fit_pool(const PoolData& data, std::size_t rounds, const CalibrationOptions& options, unsigned threads) {
  const std::vector<Source>& sources = *data.sources;
  std::vector<Pool> parts(sources.size());
  parallel_for(sources.size(), threads, [&](std::size_t s) {
    const std::size_t width = sources[s].width();
    const Judged& judged = data.calibration[s];
    CalibrationData calibration{width,
                                *data.calibration_votes[s],
                                judged.classes,
                                {judged.gains.begin(), judged.gains.end()},
                                {judged.queries.begin(), judged.queries.end()}};
    for (Calibration& fitted : fit_calibrations(calibration, options)) {
      parts[s].constant += fitted.is_constant() ? 1 : 0;
      auto scores = calibrated_scores(fitted, *data.validation_votes[s], width, data.validation.gains);
      parts[s].members.push_back({s, std::move(fitted), ndcg_10(scores, data.validation), 0.0});
      parts[s].validation.push_back(std::move(scores));
    }
  });
  Pool pool;
  pool.rounds = rounds;
  for (Pool& part : parts) {
    pool.constant += part.constant;
    std::move(part.members.begin(), part.members.end(), std::back_inserter(pool.members));
    std::move(part.validation.begin(), part.validation.end(), std::back_inserter(pool.validation));
  }
  return pool;
}

std::vector<std::size_t> members_of(const Pool& pool, PoolPart part) {
  std::vector<std::size_t> places;
  for (std::size_t m = 0; m < pool.members.size(); ++m) {
    const bool is_sigmoid = std::any_of(
        std::begin(kSigmoidTargets), std::end(kSigmoidTargets),
        [&](SigmoidTarget target) { return name_of(target) == pool.members[m].calibration.name; });
    if (part == PoolPart::all || is_sigmoid == (part == PoolPart::sigmoids)) places.push_back(m);
  }
  return places;
}

Ensemble choose_ensemble(const Pool& pool, PoolPart part, const Judged& validation) {
  Ensemble ensemble;
  ensemble.rounds = pool.rounds;
  ensemble.members = members_of(pool, part);
  std::vector<const std::vector<double>*> scores;
  std::vector<double> qualities;
  for (const std::size_t place : ensemble.members) {
    scores.push_back(&pool.validation[place]);
    qualities.push_back(pool.members[place].quality);
  }
  ChosenWeights chosen = choose_weights(scores, qualities, validation);
  ensemble.c = chosen.c;
  ensemble.quality = chosen.quality;
  ensemble.weights = std::move(chosen.weights);
  return ensemble;
}

}  // namespace metafuse::fusion::adaboost_mh
