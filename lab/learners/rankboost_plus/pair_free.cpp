// Why a bound, and not F2 itself: in F2 the weight of a pair is RankBoost.B's product of one factor per
// document, times prod_f exp(-|G_f(x1) - G_f(x0)|), a Laplace kernel with one dimension per feature used.
// That is the probability that no cut separates x0 from x1 when each stump cuts with probability
// 1 - 1/cosh(eta_s), so F2 is the expectation of F1 within the cells of a random partition; it is no product
// over documents.

#include <cmath>

#include "core/contract.h"
#include "fusion/learners/rankboost/distribution.h"
#include "fusion/learners/rankboost/loss_and_bound.h"
#include "lab/learners/rankboost_plus/boost.h"

namespace metafuse::lab::rankboost_plus {
namespace {

constexpr double kNoGainPairFree = 1e-9;
constexpr double kNearlyCertain = 1e-12;
// After this many rounds the distribution is computed anew from the scores, so that rounding errors do
// not accumulate.
constexpr std::size_t kRoundsToAnchor = 32;

class PairFree {
 public:
  PairFree(const StumpTable& stumps, const CodedFeatures& coded, const rankboost::Feedback& feedback,
           const BoostOptions& options, const RoundWatch& watch)
      : stumps_(stumps),
        coded_(coded),
        feedback_(feedback),
        options_(options),
        watch_(watch),
        distribution_(feedback, options.threads),
        scores_(coded.document_count(), 0.0),
        weights_(stumps.stumps().size(), 0.0) {
    distribution_.anchor(scores_, 0.0);
  }

  BoostRun run() {
    run_.stop_reason = "all rounds are done";
    while (run_.rounds.size() < options_.rounds) {
      const std::vector<double> r = edges();
      std::vector<double> slopes(r.size());
      for (std::size_t s = 0; s < r.size(); ++s) slopes[s] = std::abs(std::tanh(weights_[s]) - r[s]);
      const std::ptrdiff_t chosen = first_best(slopes, kNoGainPairFree);
      if (chosen < 0) {
        run_.stop_reason = "no weak ranking gains";
        break;
      }
      const double edge = r[static_cast<std::size_t>(chosen)];
      take(static_cast<std::size_t>(chosen), edge);
      if (watch_ && !watch_(run_.rounds.back())) {
        run_.stop_reason = "stopped early";
        break;
      }
      if (1.0 - std::abs(edge) < kNearlyCertain) {
        run_.stop_reason = "a weak ranking orders every pair rightly";
        break;
      }
    }
    return std::move(run_);
  }

 private:
  /// r of every stump under RankBoost's distribution.
  std::vector<double> edges() const {
    const auto potentials = distribution_.potentials();
    std::vector<double> shares(potentials.size());
    const auto total = static_cast<double>(distribution_.total());
    for (std::size_t x = 0; x < shares.size(); ++x) shares[x] = static_cast<double>(potentials[x]) / total;
    return stumps_.sums_where_fires(shares, options_.threads);
  }

  double alpha_of(double r, double weight) const {
    const bool is_certain = 1.0 - std::abs(r) < kNearlyCertain;
    const double smooth = is_certain ? 1.0 / static_cast<double>(feedback_.crucial_pairs) : 0.0;
    return 0.25 * std::log((1.0 + r + smooth) / (1.0 - r + smooth)) - 0.5 * weight;
  }

  void take(std::size_t s, double r) {
    const Stump& stump = stumps_.stumps()[s];
    BoostRound round;
    round.stump = s;
    round.accumulated = weights_[s];
    round.delta = std::tanh(weights_[s]) - r;
    round.alpha = alpha_of(r, weights_[s]);
    round.edges = {0.5 * (1.0 + r), 0.5 * (1.0 - r), 0.0};  // only their difference is known
    rankboost::CodedRanking ranking{&coded_, stump.feature, {}};
    ranking.values.assign(coded_.thresholds(stump.feature).size() + 1, 0.0);
    for (std::size_t code = stump.place + 1; code < ranking.values.size(); ++code) ranking.values[code] = 1.0;
    const double z = distribution_.update(ranking, round.alpha);
    require(z > 0.0, "a distribution has weight");
    log_f1_ += std::log(z);
    round.z = z * tie_factor(round.alpha, weights_[s]);
    log_bound_ += std::log(round.z);
    weights_[s] += round.alpha;
    for (std::size_t x = 0; x < scores_.size(); ++x)
      if (stumps_.fires(s, x)) scores_[x] += round.alpha;
    if ((run_.rounds.size() + 1) % kRoundsToAnchor == 0) distribution_.anchor(scores_, log_f1_);
    round.bound = std::exp(log_bound_);
    round.losses = {-1.0, rankboost::ranking_loss(feedback_, scores_), std::exp(log_f1_)};
    round.e2 = -1.0;
    run_.rounds.push_back(round);
  }

  const StumpTable& stumps_;
  const CodedFeatures& coded_;
  const rankboost::Feedback& feedback_;
  const BoostOptions& options_;
  const RoundWatch& watch_;
  rankboost::Distribution distribution_;
  std::vector<double> scores_;
  std::vector<double> weights_;  // eta, by stump
  double log_f1_ = 0.0;
  double log_bound_ = 0.0;
  BoostRun run_;
};

}  // namespace

BoostRun boost_pair_free(const StumpTable& stumps, const CodedFeatures& coded,
                         const rankboost::Feedback& feedback, const BoostOptions& options,
                         const RoundWatch& watch) {
  return PairFree(stumps, coded, feedback, options, watch).run();
}

}  // namespace metafuse::lab::rankboost_plus
