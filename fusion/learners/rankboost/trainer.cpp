#include "fusion/learners/rankboost/trainer.h"

#include <algorithm>
#include <cmath>

#include "core/contract.h"
#include "core/portable_math.h"

namespace metafuse::fusion::rankboost {

namespace {

constexpr double kNoGain = 1e-12;
constexpr double kNearlyCertain = 1.0 - 1e-9;
// The factors of D are updated by multiplication and computed anew from H before they can drift by more than
// about 1e-13 or leave the range of a double.
constexpr double kMostAlpha = 32.0;
constexpr std::size_t kMostReservedRounds = 512;
constexpr int kHalvings = 200;
/// Weak learner 3 may visit features part by part. With fewer rows per part, it costs more than it saves.
constexpr std::size_t kPartRows = 100'000;
constexpr std::size_t kMostParts = 6;
/// For alpha_of_scores(): the interval that then remains is too small to affect any order of documents.
constexpr int kHalvingsOfScores = 32;

double epsilon(std::uint64_t m) {
  return 1.0 / (2.0 * static_cast<double>(m));
}

/// Several processes take as few exchanges as possible, and columns in a file are read at once.
std::size_t parts_of(const Problem& problem) {
  if (problem.communicator != nullptr || problem.features.is_in_file()) return 1;
  return std::clamp<std::size_t>(problem.features.document_count() / kPartRows, 1, kMostParts);
}

/// alpha from the edge, eq. (6).
/// in: is_certain - all crucial pairs lie on one side, where alpha would be infinite: it is smoothed with 1 /
///     (2m); m - number of crucial pairs
double alpha_of_edge(double r, bool is_certain, std::uint64_t m) {
  const double bounded = std::clamp(r, -1.0, 1.0);
  const double smooth = is_certain || std::abs(bounded) >= 1.0 - 1e-15 ? 2.0 * epsilon(m) : 0.0;
  return 0.5 * portable_log((1.0 + bounded + smooth) / (1.0 - bounded + smooth));
}

/// alpha from the weights of correctly and incorrectly ordered pairs, eq. (2); smoothed if one of them is 0.
double alpha_of_sides(double right, double wrong, std::uint64_t m) {
  const double smooth = right > 0.0 && wrong > 0.0 ? 0.0 : epsilon(m);
  return 0.5 * portable_log((right + smooth) / (wrong + smooth));
}

/// Searches for the alpha that minimises Z (sec. 3.2, first method).
/// out: nothing if one side has no pair, because Z then has no minimum
std::optional<double> alpha_by_search(const Distribution& distribution, const CodedRanking& ranking) {
  const PairSides sides = distribution.sides(ranking);
  if (!sides.has_right || !sides.has_wrong) return std::nullopt;
  // Z is convex in alpha, Z'(0) = -r, and Z'(alpha) -> +-inf for alpha -> +-inf because some pair has b =
  // h(x0) - h(x1) > 0 and some b < 0. So the root lies where -Z'(0) points to, and doubling the step from 0
  // must pass it: then [low, high] holds exactly one root and halving keeps the sign change inside.
  double low = 0.0;
  double high = distribution.slope(ranking, 0.0) < 0.0 ? 1.0 : -1.0;
  const double sign = high;
  while (distribution.slope(ranking, high) * sign < 0.0 && std::abs(high) < 512.0) {
    low = high;
    high *= 2.0;
  }
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle == low || middle == high) break;
    (distribution.slope(ranking, middle) * sign < 0.0 ? low : high) = middle;
    if (std::abs(high - low) <= 1e-15 * std::max(1.0, std::abs(high))) break;
  }
  return 0.5 * (low + high);
}

/// Z and its derivative with respect to alpha. For pairs from grades, Z is a product of sums over classes:
/// that of e^(alpha H) over the documents of the lower class times that of e^(-alpha H) over the upper class.
struct Normaliser {
  double z = 0.0;
  double slope = 0.0;
};

Normaliser normaliser_of(const Feedback& feedback, std::span<const double> scores, double alpha) {
  struct Sums {
    double up = 0.0, up_slope = 0.0, down = 0.0, down_slope = 0.0;
  };
  Normaliser out;
  for (const QueryFeedback& query : feedback.queries) {
    std::vector<Sums> sums(query.classes);
    for (std::size_t row = query.begin; row < query.end; ++row) {
      if (feedback.classes[row] == Feedback::kNone) continue;
      Sums& own = sums[feedback.classes[row]];
      const double up = portable_exp(alpha * scores[row]);
      own.up += up;
      own.up_slope += scores[row] * up;
      own.down += 1.0 / up;
      own.down_slope -= scores[row] / up;
    }
    for (std::size_t a = 0; a < query.classes; ++a)
      for (std::size_t b = a + 1; b < query.classes; ++b) {
        const double weight = feedback.weights[query.table + a * query.classes + b];
        out.z += weight * sums[a].up * sums[b].down;
        out.slope += weight * (sums[a].up_slope * sums[b].down + sums[a].up * sums[b].down_slope);
      }
  }
  for (const WeightedPair& pair : feedback.pairs) {
    const double difference = scores[pair.below] - scores[pair.above];
    const double weight = pair.weight * portable_exp(alpha * difference);
    out.z += weight;
    out.slope += difference * weight;
  }
  return out;
}

}  // namespace

double alpha_of_scores(const Feedback& feedback, std::span<const double> scores, double most) {
  double low = 0.0;
  double high = most;
  if (normaliser_of(feedback, scores, low).slope >= 0.0) return 0.0;
  for (int step = 0; step < kHalvingsOfScores; ++step) {
    const double middle = 0.5 * (low + high);
    (normaliser_of(feedback, scores, middle).slope < 0.0 ? low : high) = middle;
  }
  return low;
}

WeakRanking weak_ranking_of(const Round& round, const CodedFeatures& features, FeatureKind kind) {
  const Candidate& candidate = round.candidate;
  const Thresholds& thresholds = features.thresholds(candidate.feature);
  double threshold = kind == FeatureKind::rank ? -1.0 : thresholds.highest;  // nothing exceeds it
  if (candidate.threshold < thresholds.size())
    threshold = step_threshold(thresholds, candidate.threshold, kind);
  return {candidate.feature, threshold, static_cast<double>(candidate.q_default), round.alpha};
}

Trainer::Trainer(const Problem& problem, std::span<const double> prior)
    : problem_(problem),
      prior_(prior),
      distribution_(problem.feedback, problem.threads, problem.communicator, parts_of(problem)),
      weights_(problem.features) {
  if (problem.options.weak_learner.criterion == Options::Criterion::z)
    weak_learner_2_.emplace(problem, distribution_);
  else
    weak_learner_3_.emplace(problem, distribution_);
  require(prior.empty() || problem.communicator == nullptr, "a prior is for one process");
  if (!prior.empty()) log_bound_ = portable_log(normaliser_of(problem.feedback, prior, 1.0).z);
  distribution_.anchor(scores(), log_bound_);
}

double Trainer::alpha_of(const Candidate& candidate) const {
  if (problem_.options.is_numeric)
    if (const auto alpha = alpha_by_search(distribution_, problem_.ranking_of(candidate))) return *alpha;
  if (problem_.options.weak_learner.criterion == Options::Criterion::z)
    return alpha_of_sides(candidate.right, candidate.wrong, problem_.feedback.crucial_pairs);
  bool is_certain = false;
  if (std::abs(candidate.r) > kNearlyCertain) {
    const PairSides sides = distribution_.sides(problem_.ranking_of(candidate));
    is_certain = sides.all_right || sides.all_wrong;
  }
  const double r = is_certain ? std::copysign(1.0, candidate.r) : candidate.r;
  return alpha_of_edge(r, is_certain, problem_.feedback.crucial_pairs);
}

std::optional<Round> Trainer::step() {
  if (!stop_reason_.empty()) return std::nullopt;
  const auto alpha = [this](const Candidate& candidate) { return alpha_of(candidate); };
  const auto chosen = weak_learner_2_ ? weak_learner_2_->find(distribution_, weights_, alpha)
                                      : weak_learner_3_->find(distribution_, weights_, alpha);
  if (!chosen || chosen->criterion <= kNoGain) {
    stop_reason_ = chosen ? "no weak ranking gains anything" : "no weak ranking is admissible";
    return std::nullopt;
  }
  const Round round = add(*chosen, alpha_of(*chosen));
  require(round.z > 0.0, "a distribution has weight");
  return round;
}

bool Trainer::is_perfect(const Candidate& candidate) const {
  if (candidate.r <= (problem_.options.is_value ? 0.0 : kNearlyCertain)) return false;
  return distribution_.sides(problem_.ranking_of(candidate)).all_right;
}

Round Trainer::add(const Candidate& candidate, double alpha) {
  const bool is_last = is_perfect(candidate);
  Round round = take(candidate, alpha);
  if (is_last) {
    if (!problem_.options.is_value) round.candidate.r = 1.0;  // undoes rounding
    stop_reason_ = "the last weak ranking orders every crucial pair rightly";
  }
  return round;
}

Round Trainer::take(const Candidate& candidate, double alpha) {
  Round round{candidate, alpha, 0.0, 0.0};
  round.z = distribution_.update(problem_.ranking_of(candidate), alpha);
  if (!(round.z > 0.0)) return round;
  log_bound_ += portable_log(round.z);
  round.log_bound = log_bound_;
  if (weak_learner_3_)
    weak_learner_3_->distribution_changed(distribution_.largest_changes(), round.z, candidate.feature);
  if (weak_learner_2_) weak_learner_2_->distribution_changed(alpha, round.z);
  weights_.at(candidate.feature, candidate.threshold, candidate.q_default) += alpha;
  alphas_since_anchor_ += std::abs(alpha);
  if (alphas_since_anchor_ > kMostAlpha || ++rounds_since_anchor_ >= kMostReservedRounds) {
    distribution_.anchor(scores(), log_bound_);
    if (weak_learner_3_) weak_learner_3_->forget();
    alphas_since_anchor_ = 0.0;
    rounds_since_anchor_ = 0;
  }
  return round;
}

std::vector<double> Trainer::table_by_code(std::size_t feature) const {
  const std::size_t thresholds = problem_.features.thresholds(feature).size();
  std::vector<double> table(thresholds + 1, 0.0);
  if (problem_.options.is_value) {
    table[0] = weights_.at(feature, 0, 1);
    const double slope = weights_.at(feature, 0, 0) + weights_.at(feature, 0, 1);
    // A feature whose range overflows has values that are no numbers. No round chooses it.
    if (slope == 0.0) return table;
    const CodedRanking h = problem_.ranking_of({static_cast<std::uint32_t>(feature)});
    for (std::size_t code = 1; code <= thresholds; ++code) table[code] = slope * h.values[code];
    return table;
  }
  double above = 0.0;
  for (std::size_t threshold = 0; threshold <= thresholds; ++threshold) {
    above += weights_.at(feature, threshold, 0);
    above += weights_.at(feature, threshold, 1);
    table[0] += weights_.at(feature, threshold, 1);
    if (threshold < thresholds) table[threshold + 1] = above;
  }
  return table;
}

std::vector<double> Trainer::scores() const {
  const CodedFeatures& features = problem_.features;
  std::vector<double> scores(prior_.begin(), prior_.end());
  scores.resize(features.document_count(), 0.0);
  for (std::size_t feature = 0; feature < features.feature_count(); ++feature) {
    const std::vector<double> table = table_by_code(feature);
    if (std::count(table.begin(), table.end(), 0.0) == std::ssize(table)) continue;
    for (std::size_t row = 0; row < scores.size(); ++row) scores[row] += table[features.code(row, feature)];
  }
  return scores;
}

}  // namespace metafuse::fusion::rankboost
