#include "fusion/rankboost/side_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/parallel.h"

namespace metafuse::fusion::rankboost {
namespace {

constexpr double kTieTolerance = 1e-9;
constexpr std::uint8_t kHasRight = 1;
constexpr std::uint8_t kHasWrong = 2;

/// What stands above the threshold, a class: sums of up and of down so far, and in all.
struct ClassSums {
  double* above_up;
  double* above_down;
  double* all_up;
  double* all_down;
};

}  // namespace

SideSearch::SideSearch(const Feedback& feedback, const CodedFeatures& features, const Options& options,
                       unsigned threads, Communicator* communicator)
    : feedback_(&feedback),
      features_(&features),
      options_(&options),
      threads_(threads),
      communicator_(communicator) {
  possible_.resize(features.feature_count());
  sides_.resize(features.feature_count());
  order_documents();
  find_possible_sides();
}

void SideSearch::order_documents() {
  std::size_t largest = 0;
  for (const QueryFeedback& query : feedback_->queries) largest = std::max(largest, query.end - query.begin);
  const bool is_narrow = largest <= 256;
  if (is_narrow)
    narrow_.resize(features_->feature_count());
  else
    wide_.resize(features_->feature_count());
  parallel_for(features_->feature_count(), threads_, [&](std::size_t feature) {
    if (is_narrow)
      narrow_[feature].resize(features_->document_count());
    else
      wide_[feature].resize(features_->document_count());
    std::vector<std::uint32_t> rows;
    for (const QueryFeedback& query : feedback_->queries) {
      rows.resize(query.end - query.begin);
      std::iota(rows.begin(), rows.end(), 0U);
      std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
        return features_->code(query.begin + a, feature) > features_->code(query.begin + b, feature);
      });
      for (std::size_t k = 0; k < rows.size(); ++k) {
        if (is_narrow)
          narrow_[feature][query.begin + k] = static_cast<std::uint8_t>(rows[k]);
        else
          wide_[feature][query.begin + k] = rows[k];
      }
    }
  });
}

void SideSearch::sweep_query(const QueryFeedback& query, std::size_t feature, int q_default,
                             const Weights& weights, std::vector<double>& scratch, Sides& sides) const {
  const std::size_t classes = query.classes;
  const std::uint16_t* const place = feedback_->classes.data();
  scratch.assign(4 * classes, 0.0);
  const ClassSums sums{scratch.data(), scratch.data() + classes, scratch.data() + 2 * classes,
                       scratch.data() + 3 * classes};
  for (std::size_t row = query.begin; row < query.end; ++row) {
    if (place[row] == Feedback::kNone) continue;
    sums.all_up[place[row]] += weights.up[row];
    sums.all_down[place[row]] += weights.down[row];
  }
  const double* const table = weights.tables + query.table;
  const auto move_above = [&](std::size_t row, std::size_t bucket) {
    const std::size_t c = place[row];
    if (c == Feedback::kNone) return;
    const double up = weights.up[row];
    const double down = weights.down[row];
    double right = 0.0;
    double wrong = 0.0;
    for (std::size_t a = 0; a < c; ++a) {
      right += table[a * classes + c] * (sums.all_up[a] - sums.above_up[a]);
      wrong -= table[a * classes + c] * sums.above_up[a];
    }
    right *= down;
    wrong *= down;
    double right_below = 0.0;
    double wrong_below = 0.0;
    for (std::size_t b = c + 1; b < classes; ++b) {
      right_below -= table[c * classes + b] * sums.above_down[b];
      wrong_below += table[c * classes + b] * (sums.all_down[b] - sums.above_down[b]);
    }
    sides.right[bucket] += std::llrint((right + up * right_below) * weights.scale);
    sides.wrong[bucket] += std::llrint((wrong + up * wrong_below) * weights.scale);
    sums.above_up[c] += up;
    sums.above_down[c] += down;
  };
  if (q_default == 1)
    for (std::size_t row = query.begin; row < query.end; ++row)
      if (features_->code(row, feature) == 0) move_above(row, sides.right.size() - 1);
  for (std::size_t at = query.begin; at < query.end; ++at) {
    const std::size_t row = query.begin + local(feature, at);
    const std::uint32_t code = features_->code(row, feature);
    if (code == 0) break;
    move_above(row, code);
  }
}

void SideSearch::add_pairs(const QueryFeedback& query, std::size_t feature, int q_default,
                           const Weights& weights, Sides& sides) const {
  const auto bucket_of = [&](std::size_t row) -> std::size_t {
    const std::uint32_t code = features_->code(row, feature);
    return code == 0 && q_default == 1 ? sides.right.size() - 1 : code;
  };
  for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
    const std::size_t below = bucket_of(feedback_->pairs[i].below);
    const std::size_t above = bucket_of(feedback_->pairs[i].above);
    if (below == above) continue;
    const std::int64_t weight = std::llrint(weights.pairs[i] * weights.scale);
    std::vector<std::int64_t>& side = above > below ? sides.right : sides.wrong;
    side[std::max(above, below)] += weight;
    if (std::min(above, below) > 0) side[std::min(above, below)] -= weight;
  }
}

SideSearch::Sides SideSearch::sweep(std::size_t feature, int q_default, const Weights& weights) const {
  Sides sides;
  sides.right.assign(features_->thresholds(feature).size() + 2, 0);
  sides.wrong.assign(features_->thresholds(feature).size() + 2, 0);
  std::vector<double> scratch;
  for (const QueryFeedback& query : feedback_->queries) {
    sweep_query(query, feature, q_default, weights, scratch, sides);
    add_pairs(query, feature, q_default, weights, sides);
  }
  return sides;
}

void SideSearch::find_possible_sides() {
  // With ones for weights the sweep counts pairs, exactly.
  const std::vector<double> ones(
      std::max({features_->document_count(), feedback_->weights.size(), feedback_->pairs.size()}), 1.0);
  sweep_all({ones.data(), ones.data(), ones.data(), ones.data(), 1.0});
  for (std::size_t feature = 0; feature < features_->feature_count(); ++feature) {
    for (std::size_t q = 0; q < 2; ++q) {
      if (q == 0 ? !options_->may_be_zero() : !options_->may_be_one()) continue;
      const Sides& counts = sides_[feature][q];
      const std::size_t highest = features_->thresholds(feature).size();
      std::vector<std::uint8_t>& bits = possible_[feature][q];
      bits.assign(highest + 1, 0);
      std::int64_t right = 0;
      std::int64_t wrong = 0;
      for (std::size_t threshold = highest + 1; threshold-- > 0;) {
        right += counts.right[threshold + 1];
        wrong += counts.wrong[threshold + 1];
        bits[threshold] =
            static_cast<std::uint8_t>((right > 0 ? kHasRight : 0) | (wrong > 0 ? kHasWrong : 0));
      }
    }
  }
}

void SideSearch::sweep_all(const Weights& weights) {
  parallel_for(features_->feature_count(), threads_, [&](std::size_t feature) {
    for (int q = 0; q < 2; ++q)
      if (q == 0 ? options_->may_be_zero() : options_->may_be_one())
        sides_[feature][static_cast<std::size_t>(q)] = sweep(feature, q, weights);
  });
  if (communicator_ == nullptr) return;
  std::vector<std::int64_t> packed;
  for (const auto& of_feature : sides_)
    for (const Sides& sides : of_feature) {
      packed.insert(packed.end(), sides.right.begin(), sides.right.end());
      packed.insert(packed.end(), sides.wrong.begin(), sides.wrong.end());
    }
  communicator_->sum(packed);
  auto from = packed.begin();
  for (auto& of_feature : sides_)
    for (Sides& sides : of_feature) {
      for (std::int64_t& number : sides.right) number = *from++;
      for (std::int64_t& number : sides.wrong) number = *from++;
    }
}

template <class Take>
void SideSearch::for_each_candidate(std::size_t feature, double total, const Take& take) const {
  const std::size_t highest = features_->thresholds(feature).size();
  if (highest == 0) return;  // unranked everywhere
  std::int64_t right[2] = {};
  std::int64_t wrong[2] = {};
  for (std::size_t threshold = highest + 1; threshold-- > 0;) {
    for (std::size_t q = 0; q < 2; ++q) {
      if (q == 0 ? !options_->may_be_zero() : !options_->may_be_one()) continue;
      right[q] += sides_[feature][q].right[threshold + 1];
      wrong[q] += sides_[feature][q].wrong[threshold + 1];
      if ((q == 0 && threshold == highest) || (q == 1 && threshold == 0)) continue;
      const std::uint8_t bits = possible_[feature][q][threshold];
      if (bits == 0) continue;
      Candidate candidate{static_cast<std::uint32_t>(feature), static_cast<std::uint32_t>(threshold),
                          static_cast<std::uint8_t>(q)};
      const auto weight = [&](std::int64_t sum, std::uint8_t bit) {
        return (bits & bit) != 0 ? static_cast<double>(std::max<std::int64_t>(sum, 1)) / total : 0.0;
      };
      candidate.right = weight(right[q], kHasRight);
      candidate.wrong = weight(wrong[q], kHasWrong);
      candidate.r = candidate.right - candidate.wrong;
      const double root = std::sqrt(candidate.right) - std::sqrt(candidate.wrong);
      candidate.criterion = root * root;
      take(candidate);
    }
  }
}

std::optional<Candidate> SideSearch::find(const Distribution& distribution, const CumulativeWeights& weights,
                                          const AlphaOf& alpha_of) {
  distribution.factors_by_row(up_, down_);
  sweep_all({up_.data(), down_.data(), distribution.tables().data(), distribution.pair_weights().data(),
             distribution.factor()});
  const auto total = static_cast<double>(distribution.total());
  const auto is_admissible = [&](const Candidate& candidate) {
    if (!options_->is_cumulative || candidate.right > candidate.wrong) return true;
    const double so_far = weights.at(candidate.feature, candidate.threshold, candidate.q_default);
    return so_far > 0.0 && so_far + alpha_of(candidate) > 0.0;
  };
  double best = -1.0;
  for (std::size_t feature = 0; feature < features_->feature_count(); ++feature)
    for_each_candidate(feature, total, [&](const Candidate& candidate) {
      if (candidate.criterion > best && is_admissible(candidate)) best = candidate.criterion;
    });
  std::optional<Candidate> chosen;
  for (std::size_t feature = 0; best >= 0.0 && !chosen && feature < features_->feature_count(); ++feature)
    for_each_candidate(feature, total, [&](const Candidate& candidate) {
      // The criterion is Z: within 1e-9 of the least.
      if (!chosen && best - candidate.criterion <= kTieTolerance * std::abs(1.0 - best) &&
          is_admissible(candidate))
        chosen = candidate;
    });
  if (chosen) {
    const PairWeights exact = distribution.pair_weights_of(
        coded_ranking(*features_, *options_, chosen->feature, chosen->threshold, chosen->q_default));
    chosen->right = exact.right;
    chosen->wrong = exact.wrong;
    chosen->r = exact.right - exact.wrong;
  }
  return chosen;
}

}  // namespace metafuse::fusion::rankboost
