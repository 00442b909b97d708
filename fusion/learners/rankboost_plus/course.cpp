#include "fusion/learners/rankboost_plus/course.h"

#include <algorithm>
#include <cmath>

#include "fusion/learners/rankboost_plus/losses.h"

namespace metafuse::fusion::rankboost_plus {

std::ptrdiff_t first_best(const std::vector<double>& criteria) {
  double best = -1.0;
  for (const double criterion : criteria) best = std::max(best, criterion);
  if (best < 0.0) return -1;
  for (std::size_t s = 0; s < criteria.size(); ++s)
    if (criteria[s] >= best - kTieShare * best) return static_cast<std::ptrdiff_t>(s);
  return -1;
}

void Course::close(BoostRound round, const std::vector<std::uint8_t>& fires, double e2) {
  for (std::size_t x = 0; x < scores_.size(); ++x)
    if (fires[x] != 0) scores_[x] += round.alpha;
  sum_of_squares_ += round.delta * round.delta;
  round.bound = std::exp(-0.5 * sum_of_squares_);
  round.losses = rank_losses(pairs_, scores_, options_.threads);
  round.e2 = e2;
  run_.rounds.push_back(round);
  if (watch_ && !watch_(run_.rounds.back())) stop("stopped early");
  if (run_.rounds.size() >= options_.rounds) stop("all rounds are done");
}

}  // namespace metafuse::fusion::rankboost_plus
