// What the distribution says of one weak ranking, and its factors: all that reads D and does not change it.
#include <algorithm>
#include <bit>
#include <cmath>

#include "core/parallel.h"
#include "core/portable_math.h"
#include "fusion/data/communicator.h"
#include "fusion/learners/rankboost/distribution.h"

namespace metafuse::fusion::rankboost {

void Distribution::factors_of(const QueryFeedback& query, std::vector<PairFactors>& factors) const {
  factors.resize(query.end - query.begin);
  const Run all{run_starts_[query.first_class], run_starts_[query.first_class + query.classes]};
  if (query.classes < 2 || all.end - all.begin < factors.size())
    std::fill(factors.begin(), factors.end(), PairFactors{});
  if (query.classes < 2) return;
  const auto factor = [&](std::size_t slot) -> PairFactors& { return factors[rows_[slot] - query.begin]; };
  const std::size_t lowest_end = run_of(query, 0).end;
  const std::size_t highest_begin = run_of(query, query.classes - 1).begin;
  for (std::size_t slot = all.begin; slot < lowest_end; ++slot) factor(slot) = {up_[slot], 0.0};
  for (std::size_t slot = lowest_end; slot < highest_begin; ++slot) factor(slot) = {up_[slot], down_[slot]};
  for (std::size_t slot = highest_begin; slot < all.end; ++slot) factor(slot) = {0.0, down_[slot]};
}

double Distribution::slope_of(const QueryFeedback& query, const CodedRanking& ranking, double alpha,
                              double factor) const {
  // The sum of D b e^(alpha b) with b = h(x0) - h(x1), as products of sums over documents.
  const std::size_t classes = query.classes;
  std::vector<double> sums(4 * classes, 0.0);  // up, up h, down, down h, each multiplied by its exponential
  for (std::size_t place = 0; place < classes; ++place) {
    const Run run = run_of(query, place);
    for (std::size_t slot = run.begin; slot < run.end; ++slot) {
      const double h = ranking(rows_[slot]);
      const double up = up_[slot] * portable_exp(alpha * h);
      const double down = down_[slot] * portable_exp(-alpha * h);
      sums[place] += up;
      sums[classes + place] += up * h;
      sums[2 * classes + place] += down;
      sums[3 * classes + place] += down * h;
    }
  }
  double slope = 0.0;
  for (std::size_t a = 0; a < classes; ++a)
    for (std::size_t b = a + 1; b < classes; ++b)
      slope += tables_[query.table + a * classes + b] * factor *
               (sums[classes + a] * sums[2 * classes + b] - sums[a] * sums[3 * classes + b]);
  for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
    const WeightedPair& pair = feedback_->pairs[i];
    const double b = ranking(pair.below) - ranking(pair.above);
    slope += pair_weights_[i] * factor * b * portable_exp(alpha * b);
  }
  return slope;
}

double Distribution::slope(const CodedRanking& ranking, double alpha) const {
  // What speaks against the sign of alpha is 1 at most, so that a query of more than that decides it by any
  // number.
  constexpr double kDecides = 2.0;
  const double scale = std::ldexp(1.0, 60 - static_cast<int>(std::bit_width(feedback_->query_count)));
  const double factor = inverse_ * scale_ / static_cast<double>(total_);
  std::vector<std::int64_t> totals(chunks_.size() - 1, 0);
  parallel_for(totals.size(), threads_, [&](std::size_t chunk) {
    for (std::size_t i = chunks_[chunk]; i < chunks_[chunk + 1]; ++i) {
      const double slope = slope_of(feedback_->queries[i], ranking, alpha, factor);
      totals[chunk] += std::llrint(std::clamp(slope, -kDecides, kDecides) * scale);
    }
  });
  std::int64_t total = 0;
  for (const std::int64_t part : totals) total += part;
  return static_cast<double>(sum_over_processes(communicator_, total)) / scale;
}

PairSides Distribution::sides(const CodedRanking& ranking) const {
  PairSides sides{false, false, true, true};
  const auto take = [&](double lowest_difference, double highest_difference) {  // of h(x1) - h(x0)
    sides.has_right = sides.has_right || highest_difference > 0.0;
    sides.has_wrong = sides.has_wrong || lowest_difference < 0.0;
    sides.all_right = sides.all_right && lowest_difference > 0.0;
    sides.all_wrong = sides.all_wrong && highest_difference < 0.0;
  };
  std::vector<double> lowest;
  std::vector<double> highest;
  for (const QueryFeedback& query : feedback_->queries) {
    lowest.assign(query.classes, 2.0);
    highest.assign(query.classes, -2.0);
    for (std::size_t place = 0; place < query.classes; ++place) {
      const Run run = run_of(query, place);
      for (std::size_t slot = run.begin; slot < run.end; ++slot) {
        lowest[place] = std::min(lowest[place], ranking(rows_[slot]));
        highest[place] = std::max(highest[place], ranking(rows_[slot]));
      }
    }
    for (std::size_t a = 0; a < query.classes; ++a)
      for (std::size_t b = a + 1; b < query.classes; ++b)
        take(lowest[b] - highest[a], highest[b] - lowest[a]);
    for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
      const double difference = ranking(feedback_->pairs[i].above) - ranking(feedback_->pairs[i].below);
      take(difference, difference);
    }
  }
  std::int64_t votes[] = {sides.has_right, sides.has_wrong, !sides.all_right, !sides.all_wrong};
  sum_over_processes(communicator_, votes);
  return {votes[0] > 0, votes[1] > 0, votes[2] == 0, votes[3] == 0};
}

PairWeights Distribution::pair_weights_of(const CodedRanking& ranking) const {
  const double factor = inverse_ * scale_ / static_cast<double>(total_);
  std::vector<double> right;
  std::vector<double> wrong;
  for (const QueryFeedback& query : feedback_->queries) {
    const std::size_t classes = query.classes;
    std::vector<double> sums(4 * classes, 0.0);  // up below, up above, down below, down above the threshold
    for (std::size_t place = 0; place < classes; ++place) {
      const Run run = run_of(query, place);
      for (std::size_t slot = run.begin; slot < run.end; ++slot) {
        const std::size_t above = ranking(rows_[slot]) > 0.5 ? classes : 0;
        sums[above + place] += up_[slot];
        sums[2 * classes + above + place] += down_[slot];
      }
    }
    right.push_back(0.0);
    wrong.push_back(0.0);
    for (std::size_t a = 0; a < classes; ++a)
      for (std::size_t b = a + 1; b < classes; ++b) {
        const double weight = tables_[query.table + a * classes + b] * factor;
        right.back() += weight * sums[a] * sums[3 * classes + b];
        wrong.back() += weight * sums[classes + a] * sums[2 * classes + b];
      }
    for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
      const double difference = ranking(feedback_->pairs[i].above) - ranking(feedback_->pairs[i].below);
      if (difference > 0.0) right.back() += pair_weights_[i] * factor;
      if (difference < 0.0) wrong.back() += pair_weights_[i] * factor;
    }
  }
  return {exact_sum(numbers_of_processes(communicator_, std::move(right))),
          exact_sum(numbers_of_processes(communicator_, std::move(wrong)))};
}

}  // namespace metafuse::fusion::rankboost
