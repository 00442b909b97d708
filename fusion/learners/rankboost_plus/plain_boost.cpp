#include "fusion/learners/rankboost_plus/plain_boost.h"

#include <algorithm>
#include <cmath>

#include "fusion/learners/rankboost_plus/course.h"
#include "fusion/learners/rankboost_plus/ensemble.h"

namespace metafuse::fusion::rankboost_plus {
namespace {

/// The stump of the largest |r|: eq. (13) over stumps of either orientation. -1 when none gains.
std::ptrdiff_t steepest(const StumpTable& stumps, const PairDistribution& distribution, unsigned threads) {
  std::vector<double> criteria = stumps.sums_where_fires(distribution.potentials(), threads);
  for (double& r : criteria) r = std::abs(r) / distribution.total();
  const std::ptrdiff_t chosen = first_best(criteria);
  return chosen >= 0 && criteria[static_cast<std::size_t>(chosen)] > kNoGain ? chosen : -1;
}

}  // namespace

BoostRun boost_plain(const StumpTable& stumps, const PairRows& pairs, const BoostOptions& options,
                     const RoundWatch& watch) {
  Course course(pairs, options, watch);
  PairDistribution distribution(pairs, options.threads);
  std::vector<IndependentEnsemble> shadow;  // what E2 is measured over; none or one
  if (options.has_all_losses) shadow.emplace_back(stumps, pairs, options.threads);
  std::vector<double> accumulated(stumps.stumps().size(), 0.0);
  while (!course.is_over()) {
    const std::ptrdiff_t chosen = steepest(stumps, distribution, options.threads);
    if (chosen < 0) {
      course.stop("no weak ranking gains");
      break;
    }
    const auto s = static_cast<std::size_t>(chosen);
    const std::vector<std::uint8_t> fires = stumps.firing(s);
    BoostRound round;
    round.stump = s;
    round.edges = distribution.edges(fires);
    round.accumulated = accumulated[s];
    round.delta = round.edges.reversed - round.edges.right;
    const bool is_undefined = std::min(round.edges.right, round.edges.reversed) < kZeroShare;
    if (is_undefined)
      (round.edges.right < round.edges.reversed ? round.edges.right : round.edges.reversed) = 0.0;
    const bool is_perfect = is_undefined && round.edges.tied < kCloseToZero && distribution.is_perfect(fires);
    if (is_perfect) round.edges.tied = 0.0;
    if (options.form == Form::discrete && is_undefined && options.is_halting && !is_perfect) {
      course.stop("the weight of Rb-d is undefined: its weak ranking reverses no pair");
      break;
    }
    round.alpha = options.form == Form::discrete ? alpha_discrete(round.edges, course.epsilon())
                                                 : alpha_continuous(round.edges, course.epsilon());
    round.z = z_rankboost(round.edges, round.alpha);
    accumulated[s] += round.alpha;
    distribution.multiply(fires,
                          {std::exp(-round.alpha) / round.z, std::exp(round.alpha) / round.z, 1.0 / round.z});
    if (!shadow.empty()) shadow.front().add(s, round.alpha);
    course.close(round, fires, shadow.empty() ? -1.0 : shadow.front().e2());
    if (is_perfect) course.stop("a weak ranking orders every pair rightly");
  }
  if (!shadow.empty()) course.run().independent = shadow.front().size();
  return std::move(course.run());
}

}  // namespace metafuse::fusion::rankboost_plus
