#include "lab/learners/adaboost_mh/ensemble.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/contract.h"
#include "core/parallel.h"
#include "core/portable_math.h"
#include "evaluation/measures/discounted_gain.h"

namespace metafuse::lab::adaboost_mh {

namespace {

constexpr std::size_t kDepth = 10;

double dcg(const std::vector<double>& gains) {
  double sum = 0.0;
  for (std::size_t i = 0; i < std::min(kDepth, gains.size()); ++i)
    sum += gains[i] / evaluation::log_discount(i + 1);
  return sum;
}

}  // namespace

double ndcg_10(std::span<const double> scores, const Judged& judged) {
  double sum = 0.0;
  for (const RowRange& query : judged.queries) {
    std::vector<std::size_t> order(query.end - query.begin);
    std::iota(order.begin(), order.end(), query.begin);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    std::vector<double> gains;
    for (const std::size_t d : order)
      gains.push_back(judged.gains[static_cast<std::size_t>(judged.classes[d])]);
    const double reached = dcg(gains);
    std::sort(gains.begin(), gains.end(), std::greater<>());
    const double ideal = dcg(gains);
    if (ideal > 0.0) sum += reached / ideal;
  }
  return judged.queries.empty() ? 0.0 : sum / static_cast<double>(judged.queries.size());
}

std::vector<double> exponential_weights(std::span<const double> qualities, double c) {
  const double most = *std::max_element(qualities.begin(), qualities.end());
  std::vector<double> weights;
  double sum = 0.0;
  for (const double quality : qualities) {
    weights.push_back(portable_exp(c * (quality - most)));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

std::vector<double> weighted_scores(std::span<const std::vector<double>* const> scores,
                                    std::span<const double> weights) {
  require(!scores.empty() && scores.size() == weights.size(), "a weight for each list of scores");
  std::vector<double> sums(scores[0]->size(), 0.0);
  for (std::size_t m = 0; m < scores.size(); ++m)
    for (std::size_t d = 0; d < sums.size(); ++d) sums[d] += weights[m] * (*scores[m])[d];
  return sums;
}

ChosenWeights choose_weights(const Pool& pool, const Judged& validation) {
  std::vector<const std::vector<double>*> scores;
  std::vector<double> qualities;
  for (std::size_t m = 0; m < pool.members.size(); ++m) {
    scores.push_back(&pool.validation[m]);
    qualities.push_back(pool.members[m].quality);
  }
  ChosenWeights best;
  for (int step = 0; step <= 20; ++step) {
    const double c = 10.0 * step;
    auto weights = exponential_weights(qualities, c);
    const double quality = ndcg_10(weighted_scores(scores, weights), validation);
    if (quality > best.quality + 1e-12) best = {c, quality, std::move(weights)};
  }
  return best;
}

std::vector<BaseSetting> all_settings() {
  std::vector<BaseSetting> settings;
  for (std::size_t leaves = 5; leaves <= 45; leaves += 5) settings.push_back({BaseKind::tree, leaves});
  for (std::size_t terms = 2; terms <= 10; ++terms) settings.push_back({BaseKind::product, terms});
  return settings;
}

Pool fit_pool(std::span<const SourceVotes> sources, const Judged& validation,
              const CalibrationOptions& options, unsigned threads) {
  std::vector<Pool> parts(sources.size());
  parallel_for(sources.size(), threads, [&](std::size_t s) {
    const auto& [width, judged, calibration_votes, validation_votes] = sources[s];
    const CalibrationData calibration{width,
                                      *calibration_votes,
                                      judged.classes,
                                      {judged.gains.begin(), judged.gains.end()},
                                      {judged.queries.begin(), judged.queries.end()}};
    for (Calibration& fitted : fit_calibrations(calibration, options)) {
      parts[s].constant += fitted.is_constant() ? 1 : 0;
      auto scores = calibrated_scores(fitted, *validation_votes, width, validation.gains);
      parts[s].members.push_back({s, std::move(fitted), ndcg_10(scores, validation), 0.0});
      parts[s].validation.push_back(std::move(scores));
    }
  });
  Pool pool;
  for (Pool& part : parts) {
    pool.constant += part.constant;
    std::move(part.members.begin(), part.members.end(), std::back_inserter(pool.members));
    std::move(part.validation.begin(), part.validation.end(), std::back_inserter(pool.validation));
  }
  return pool;
}

}  // namespace metafuse::lab::adaboost_mh
