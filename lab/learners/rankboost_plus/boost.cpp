#include "lab/learners/rankboost_plus/boost.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/contract.h"
#include "core/random.h"
#include "lab/learners/rankboost_plus/independent_ensemble.h"
#include "lab/learners/rankboost_plus/pair_rows.h"

namespace metafuse::lab::rankboost_plus {

std::string_view form_name(Form form) {
  switch (form) {
    case Form::discrete:
      return "Rb-d";
    case Form::continuous:
      return "Rb-c";
    case Form::plus_efficient:
      return "RankBoost+";
    case Form::plus_optimal:
      return "RankBoost+ (optimal)";
    case Form::pair_free:
      break;
  }
  return "RankBoost+ (pair-free)";
}

std::ptrdiff_t first_best(const std::vector<double>& criteria, double least) {
  double best = -1.0;
  for (const double criterion : criteria) best = std::max(best, criterion);
  for (std::size_t s = 0; s < criteria.size(); ++s)
    if (criteria[s] >= best - kTieShare * best)
      return criteria[s] > least ? static_cast<std::ptrdiff_t>(s) : -1;
  return -1;
}

namespace {

// A weight below this counts as zero: no pair is then ordered in that way.
constexpr double kZeroShare = 1e-250;
// A share computed as 1 minus two others may differ from zero by this much because of rounding.
constexpr double kCloseToZero = 1e-9;

/// What all forms that use pairs share: scores, losses, bound and the reasons to stop.
class Course {
 public:
  Course(const PairRows& pairs, const BoostOptions& options, const RoundWatch& watch)
      : pairs_(pairs),
        options_(options),
        watch_(watch),
        epsilon_(0.5 / static_cast<double>(pairs.pair_count)),
        scores_(pairs.document_count, 0.0) {}

  double epsilon() const { return epsilon_; }
  bool is_over() const { return !run_.stop_reason.empty(); }
  void stop(std::string reason) { run_.stop_reason = std::move(reason); }
  BoostRun& run() { return run_; }

  /// Completes a round: measures its losses and decides whether to stop.
  /// in: e2 - negative if not measured
  void close(BoostRound round, const std::vector<std::uint8_t>& fires, double e2) {
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

 private:
  const PairRows& pairs_;
  const BoostOptions& options_;
  const RoundWatch& watch_;
  double epsilon_;
  std::vector<double> scores_;
  double sum_of_squares_ = 0.0;
  BoostRun run_;
};

/// Finds the minimum of a convex function on [0, infinity) that decreases at 0, by golden-section search.
///
/// out:  the minimum within 1e-9, or 64 if the function still decreases there
/// cost: about 60 calls
template <class Function>
double least_place(const Function& function) {
  double high = 0.5;
  while (high < 64.0 && function(high) < function(0.5 * high)) high *= 2.0;
  constexpr double kGolden = 0.61803398874989485;
  double low = 0.0;
  double left = high - kGolden * (high - low);
  double right = low + kGolden * (high - low);
  double at_left = function(left);
  double at_right = function(right);
  for (int i = 0; i < 60 && high - low > 1e-9; ++i) {
    if (at_left <= at_right) {
      high = right;
      right = left;
      at_right = at_left;
      left = high - kGolden * (high - low);
      at_left = function(left);
    } else {
      low = left;
      left = right;
      at_left = at_right;
      right = low + kGolden * (high - low);
      at_right = function(right);
    }
  }
  return 0.5 * (low + high);
}

/// Rb-d and Rb-c. Each round takes the stump of either orientation with the largest |r|, eq. (13).
class PlainBoost {
 public:
  PlainBoost(const StumpTable& stumps, const PairRows& pairs, const BoostOptions& options,
             const RoundWatch& watch)
      : stumps_(stumps),
        options_(options),
        course_(pairs, options, watch),
        distribution_(pairs, options.threads),
        accumulated_(stumps.stumps().size(), 0.0) {
    if (options.has_all_losses) shadow_.emplace(stumps, pairs, options.threads);
  }

  BoostRun run() {
    while (!course_.is_over()) {
      std::vector<double> criteria = stumps_.sums_where_fires(distribution_.potentials(), options_.threads);
      for (double& r : criteria) r = std::abs(r) / distribution_.total();
      const std::ptrdiff_t chosen = first_best(criteria);
      if (chosen < 0)
        course_.stop("no weak ranking gains");
      else
        step(static_cast<std::size_t>(chosen));
    }
    if (shadow_) course_.run().independent = shadow_->size();
    return std::move(course_.run());
  }

 private:
  void step(std::size_t s) {
    const std::vector<std::uint8_t> fires = stumps_.firing(s);
    BoostRound round;
    round.stump = s;
    round.edges = distribution_.edges(fires);
    round.accumulated = accumulated_[s];
    round.delta = round.edges.reversed - round.edges.right;
    const bool is_undefined = std::min(round.edges.right, round.edges.reversed) < kZeroShare;
    if (is_undefined)
      (round.edges.right < round.edges.reversed ? round.edges.right : round.edges.reversed) = 0.0;
    const bool is_perfect =
        is_undefined && round.edges.tied < kCloseToZero && distribution_.is_perfect(fires);
    if (is_perfect) round.edges.tied = 0.0;
    const bool is_discrete = options_.form == Form::discrete;
    if (is_discrete && is_undefined && options_.is_halting && !is_perfect)
      return course_.stop("the weight of Rb-d is undefined: its weak ranking reverses no pair");
    round.alpha = is_discrete ? alpha_discrete(round.edges, course_.epsilon())
                              : alpha_continuous(round.edges, course_.epsilon());
    round.z = z_rankboost(round.edges, round.alpha);
    accumulated_[s] += round.alpha;
    distribution_.multiply(
        fires, {std::exp(-round.alpha) / round.z, std::exp(round.alpha) / round.z, 1.0 / round.z});
    if (shadow_) shadow_->add(s, round.alpha);
    course_.close(round, fires, shadow_ ? shadow_->e2() : -1.0);
    if (is_perfect) course_.stop("a weak ranking orders every pair rightly");
  }

  const StumpTable& stumps_;
  const BoostOptions& options_;
  Course course_;
  PairDistribution distribution_;
  std::optional<IndependentEnsemble> shadow_;  // measures E2, if that is wanted
  std::vector<double> accumulated_;            // by stump
};

class PlusBoost {
 public:
  PlusBoost(const StumpTable& stumps, const PairRows& pairs, const BoostOptions& options,
            const RoundWatch& watch)
      : stumps_(stumps),
        options_(options),
        course_(pairs, options, watch),
        ensemble_(stumps, pairs, options.threads),
        is_candidate_(stumps.stumps().size(), 1) {}

  BoostRun run() {
    while (!course_.is_over()) {
      r_ = stumps_.sums_where_fires(ensemble_.distribution().potentials(), options_.threads);
      for (double& r : r_) r /= ensemble_.distribution().total();
      const std::ptrdiff_t chosen = choose();
      if (chosen < 0)
        course_.stop("no weak ranking gains");
      else
        step(static_cast<std::size_t>(chosen));
    }
    course_.run().independent = ensemble_.size();
    return std::move(course_.run());
  }

 private:
  /// For candidates outside the set |r|, as if each were independent; for members whose slope could be the
  /// best, the exact slope; -1 for the others.
  std::vector<double> candidate_slopes() {
    std::vector<double> slopes(r_.size(), -1.0);
    double best = 0.0;
    for (std::size_t s = 0; s < r_.size(); ++s) {
      if (is_candidate_[s] == 0 || ensemble_.place(s) >= 0) continue;
      slopes[s] = std::abs(r_[s]);
      best = std::max(best, slopes[s]);
    }
    std::vector<std::pair<double, std::size_t>> members;  // (upper bound of the slope, member)
    for (std::size_t k = 0; k < ensemble_.size(); ++k) members.emplace_back(most_slope(k), k);
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (const auto& [most, k] : members) {
      if (most < best - 2.0 * kTieShare * best) break;
      const std::size_t s = ensemble_.stump(k);
      slopes[s] = std::abs(member_slope(k));
      best = std::max(best, slopes[s]);
    }
    return slopes;
  }

  /// An upper bound of a member's |delta|, from its r, which is known, and from the range that must contain
  /// its share of ties, which was last counted some rounds ago.
  double most_slope(std::size_t k) const {
    const double r = r_[ensemble_.stump(k)];
    const double pull = std::tanh(ensemble_.weight(k));
    const double most_tied = std::min(tied_[k].most, 1.0 - std::abs(r));
    const double slack = 1e-12;  // because the bounds are products of rounded factors
    return std::max(std::abs(-r + tied_[k].least * pull), std::abs(-r + most_tied * pull)) + slack;
  }

  double member_slope(std::size_t k) {
    const std::size_t s = ensemble_.stump(k);
    const Edges edges = ensemble_.distribution().edges(stumps_.firing(s), r_[s]);
    tied_[k] = {edges.tied, edges.tied};
    return delta_plus(edges, ensemble_.weight(k));
  }

  /// The slopes along all members, along candidates that depend on them, and along all other candidates.
  std::vector<double> all_slopes() {
    std::vector<double> gradient(ensemble_.size());
    for (std::size_t k = 0; k < gradient.size(); ++k) gradient[k] = member_slope(k);
    std::vector<double> slopes(r_.size(), -1.0);
    for (std::size_t s = 0; s < r_.size(); ++s) {
      const std::ptrdiff_t member = ensemble_.place(s);
      if (member >= 0) {
        slopes[s] = std::abs(gradient[static_cast<std::size_t>(member)]);
      } else if (!ensemble_.set().is_dependent(s)) {
        slopes[s] = std::abs(r_[s]);
      } else {
        const std::vector<double> beta = ensemble_.set().coordinates(s);
        const double along = std::inner_product(beta.begin(), beta.end(), gradient.begin(), 0.0);
        const double length = std::sqrt(std::inner_product(beta.begin(), beta.end(), beta.begin(), 0.0));
        slopes[s] = length > 0.0 ? std::abs(along) / length : 0.0;
      }
    }
    return slopes;
  }

  /// The stump with the greatest slope, or -1 if none gains. On return the stump is a member of the set or,
  /// in the optimal form, possibly dependent on it.
  std::ptrdiff_t choose() {
    for (;;) {
      const std::vector<double> slopes =
          options_.form == Form::plus_optimal ? all_slopes() : candidate_slopes();
      const std::ptrdiff_t best = first_best(slopes);
      if (best < 0) return best;
      const auto s = static_cast<std::size_t>(best);
      if (ensemble_.place(s) >= 0) return best;
      if (options_.form == Form::plus_optimal && ensemble_.set().is_dependent(s)) return best;
      if (is_pruned_ || !ensemble_.set().is_dependent(s)) {
        is_pruned_ ? ensemble_.include_unchecked(s) : ensemble_.include(s);
        tied_.push_back({0.0, 1.0});
        return best;
      }
      drop(s);
      if (options_.is_pruning) prune();
    }
  }

  void drop(std::size_t s) {
    is_candidate_[s] = 0;
    ++course_.run().dependent;
  }

  /// Algorithm 2, line 14: reduces the candidates, taken in random order, to a maximal subset that is
  /// independent together with the members.
  void prune() {
    std::vector<std::size_t> order;
    for (std::size_t s = 0; s < is_candidate_.size(); ++s)
      if (is_candidate_[s] != 0 && ensemble_.place(s) < 0) order.push_back(s);
    Random random(options_.seed);
    random.shuffle(order);
    for (const std::size_t s : order) {
      if (ensemble_.set().is_dependent(s))
        drop(s);
      else
        ensemble_.set().add(s);
    }
    is_pruned_ = true;
  }

  void step(std::size_t s) {
    const std::vector<std::uint8_t> fires = stumps_.firing(s);
    BoostRound round;
    round.stump = s;
    const double e2_before = ensemble_.e2();
    const std::ptrdiff_t place = ensemble_.place(s);
    bool is_perfect = false;
    round.edges = ensemble_.distribution().edges(fires);
    if (place >= 0) {
      const auto k = static_cast<std::size_t>(place);
      is_perfect = round.edges.tied < kCloseToZero && ensemble_.distribution().is_perfect(fires);
      if (is_perfect) round.edges = round.edges.right > 0.5 ? Edges{1.0, 0.0, 0.0} : Edges{0.0, 1.0, 0.0};
      round.accumulated = ensemble_.weight(k);
      round.delta = delta_plus(round.edges, round.accumulated);
      round.alpha = alpha_plus(round.edges, round.accumulated, course_.epsilon());
      round.z = z_plus(round.edges, round.alpha, round.accumulated);
      widen_ties(round);
      ensemble_.move(k, round.alpha, round.z);
      const double tied = round.edges.tied * tie_factor(round.alpha, round.accumulated) / round.z;
      tied_[k] = {tied, tied};
    } else {
      round.delta = step_along(s, round.alpha);
      round.z = ensemble_.e2() / e2_before;
    }
    course_.close(round, fires, ensemble_.e2());
    if (is_perfect) course_.stop("a weak ranking orders every pair rightly");
  }

  /// The optimal form's step along a dependent weak ranking: a golden-section search for the least F2.
  /// Returns the slope and sets alpha.
  double step_along(std::size_t s, double& alpha) {
    const std::vector<double> beta = ensemble_.set().coordinates(s);
    double slope = 0.0;
    double length = 0.0;
    for (std::size_t k = 0; k < beta.size(); ++k) {
      slope += beta[k] * member_slope(k);
      length += beta[k] * beta[k];
    }
    const auto at = [&](double a) {
      std::vector<double> step(beta.size());
      for (std::size_t k = 0; k < step.size(); ++k) step[k] = std::abs(beta[k]) < 1e-9 ? 0.0 : a * beta[k];
      return step;
    };
    const double sign = slope > 0.0 ? -1.0 : 1.0;
    alpha = sign * least_place([&](double size) { return ensemble_.ratio_after(at(sign * size)); });
    ensemble_.move(at(alpha));
    for (TiedRange& range : tied_) range = {0.0, 1.0};
    return slope / std::sqrt(length);
  }

  void widen_ties(const BoostRound& round) {
    const double tied = tie_factor(round.alpha, round.accumulated);
    const double most = std::max({std::exp(std::abs(round.alpha)), tied}) / round.z;
    const double least = std::min({std::exp(-std::abs(round.alpha)), tied}) / round.z;
    for (TiedRange& range : tied_) range = {range.least * least, std::min(1.0, range.most * most)};
  }

  /// The range that must contain a member's share of ties.
  struct TiedRange {
    double least = 0.0;
    double most = 1.0;
  };

  const StumpTable& stumps_;
  const BoostOptions& options_;
  Course course_;
  IndependentEnsemble ensemble_;
  std::vector<std::uint8_t> is_candidate_;
  std::vector<double> r_;
  std::vector<TiedRange> tied_;  // by member
  bool is_pruned_ = false;
};

}  // namespace

BoostRun boost_stumps(const StumpTable& stumps, const PairRows& pairs, const BoostOptions& options,
                      const RoundWatch& watch) {
  require(stumps.document_count() == pairs.document_count, "the table and the pairs are of one training set");
  require(options.form != Form::pair_free, "the pair-free form has a function of its own");
  if (stumps.stumps().empty()) {
    BoostRun nothing;
    nothing.stop_reason = "no weak ranking gains";
    return nothing;
  }
  if (options.form == Form::discrete || options.form == Form::continuous)
    return PlainBoost(stumps, pairs, options, watch).run();
  return PlusBoost(stumps, pairs, options, watch).run();
}

}  // namespace metafuse::lab::rankboost_plus
