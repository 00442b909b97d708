#include "fusion/rankboost/distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/contract.h"
#include "core/parallel.h"
#include "fusion/exact_sum.h"

namespace metafuse::fusion::rankboost {
namespace {

constexpr std::size_t kChunkRows = 4096;

/// Whole queries of about kChunkRows rows: what one thread takes at a time.
std::vector<std::size_t> chunk_bounds(const Feedback& feedback) {
  std::vector<std::size_t> bounds{0};
  std::size_t rows = 0;
  for (std::size_t i = 0; i < feedback.queries.size(); ++i) {
    rows += feedback.queries[i].end - feedback.queries[i].begin;
    if (rows < kChunkRows && i + 1 < feedback.queries.size()) continue;
    bounds.push_back(i + 1);
    rows = 0;
  }
  return bounds;
}

}  // namespace

Distribution::Distribution(const Feedback& feedback, unsigned threads)
    : feedback_(&feedback),
      threads_(threads),
      chunks_(chunk_bounds(feedback)),
      up_(feedback.classes.size(), 0.0),
      down_(feedback.classes.size(), 0.0),
      tables_(feedback.weights.size()),
      pair_weights_(feedback.pairs.size()),
      potentials_(feedback.classes.size(), 0) {}

template <class Work>
void Distribution::for_each_chunk(const Work& work) const {
  parallel_for(chunks_.size() - 1, threads_, [&](std::size_t chunk) {
    for (std::size_t i = chunks_[chunk]; i < chunks_[chunk + 1]; ++i) work(chunk, feedback_->queries[i]);
  });
}

void Distribution::set_scale(double alpha) {
  // The total after a round is at most e^|alpha| times the one before, and the potentials' absolute sum at
  // most twice the total: with this scale every sum of potentials stays below 2^62.
  scale_ = std::exp2(std::floor(60.0 - std::abs(alpha) * std::numbers::log2e));
}

void Distribution::anchor(std::span<const double> scores, double log_normaliser) {
  inverse_ = 1.0;
  const double old_total = static_cast<double>(std::max<std::int64_t>(total_, 1));
  set_scale(0.5);
  for_each_chunk(
      [&](std::size_t, const QueryFeedback& query) { anchor_query(query, scores, log_normaliser); });
  refresh_all(scale_ / old_total);
}

void Distribution::anchor_query(const QueryFeedback& query, std::span<const double> scores,
                                double log_normaliser) {
  const std::size_t classes = query.classes;
  std::vector<double> highest(classes, -std::numeric_limits<double>::infinity());
  std::vector<double> lowest(classes, std::numeric_limits<double>::infinity());
  for (std::size_t row = query.begin; row < query.end; ++row) {
    const std::uint16_t place = feedback_->classes[row];
    if (place == Feedback::kNone) continue;
    highest[place] = std::max(highest[place], scores[row]);
    lowest[place] = std::min(lowest[place], scores[row]);
  }
  for (std::size_t row = query.begin; row < query.end; ++row) {
    const std::uint16_t place = feedback_->classes[row];
    if (place == Feedback::kNone) continue;
    up_[row] = std::exp(scores[row] - highest[place]);
    down_[row] = std::exp(lowest[place] - scores[row]);
  }
  for (std::size_t a = 0; a < classes; ++a)
    for (std::size_t b = a + 1; b < classes; ++b) {
      const std::size_t at = query.table + a * classes + b;
      tables_[at] = feedback_->weights[at] * std::exp(highest[a] - lowest[b] - log_normaliser);
    }
  for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
    const WeightedPair& pair = feedback_->pairs[i];
    pair_weights_[i] = pair.weight * std::exp(scores[pair.below] - scores[pair.above] - log_normaliser);
  }
}

void Distribution::refresh(const QueryFeedback& query, double old_factor, Sums& sums) {
  const std::size_t classes = query.classes;
  const std::uint16_t* const place = feedback_->classes.data();
  sums.scratch.assign(4 * (classes + 1), 0.0);  // one more class takes the documents in no feedback
  double* const ups =
      sums.scratch.data();  // sums of up a class, then of down, then the factors of a potential
  double* const downs = ups + classes + 1;
  double* const gains = downs + classes + 1;
  double* const costs = gains + classes + 1;
  const auto class_of = [&](std::size_t row) { return std::min<std::size_t>(place[row], classes); };
  for (std::size_t row = query.begin; row < query.end; ++row) {
    ups[class_of(row)] += up_[row];
    downs[class_of(row)] += down_[row];
  }
  double sum = 0.0;
  const double factor = inverse_ * scale_;
  for (std::size_t a = 0; a < classes; ++a)
    for (std::size_t b = a + 1; b < classes; ++b) {
      const double weight = tables_[query.table + a * classes + b] * factor;
      gains[b] += weight * ups[a];
      costs[a] += weight * downs[b];
      sum += weight * ups[a] * downs[b];
    }
  double change = 0.0;
  const auto put = [&](std::size_t row, double potential) {
    change += std::abs(potential - static_cast<double>(potentials_[row]) * old_factor);
    potentials_[row] = std::llrint(potential);
  };
  if (query.pairs_begin == query.pairs_end) {
    for (std::size_t row = query.begin; row < query.end; ++row)
      put(row, down_[row] * gains[class_of(row)] - up_[row] * costs[class_of(row)]);
  } else {
    std::vector<double> potentials(query.end - query.begin, 0.0);
    for (std::size_t row = query.begin; row < query.end; ++row)
      potentials[row - query.begin] = down_[row] * gains[class_of(row)] - up_[row] * costs[class_of(row)];
    for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
      const double weight = pair_weights_[i] * factor;
      potentials[feedback_->pairs[i].above - query.begin] += weight;
      potentials[feedback_->pairs[i].below - query.begin] -= weight;
      sum += weight;
    }
    for (std::size_t row = query.begin; row < query.end; ++row) put(row, potentials[row - query.begin]);
  }
  sums.change += change;
  sums.total += std::llrint(sum);
}

void Distribution::refresh_all(double old_factor) {
  std::vector<Sums> sums(chunks_.size() - 1);
  for_each_chunk(
      [&](std::size_t chunk, const QueryFeedback& query) { refresh(query, old_factor, sums[chunk]); });
  total_ = 0;
  double change = 0.0;
  for (const Sums& part : sums) {
    total_ += part.total;
    change += part.change;
  }
  require(total_ > 0, "a distribution has weight");
  // A little more than half the change, for what rounding took away.
  largest_change_ = 0.5 * (1.0 + 1e-9) * change / scale_ + 1e-15;
}

double Distribution::update(const CodedRanking& ranking, double alpha) {
  Factors factors;
  for (const double value : ranking.values) {
    factors.up.push_back(std::exp(alpha * value));
    factors.down.push_back(std::exp(-alpha * value));
  }
  const double old_total = static_cast<double>(total_);
  inverse_ *= scale_ / old_total;
  set_scale(alpha);
  for_each_chunk([&](std::size_t, const QueryFeedback& query) {
    for (std::size_t row = query.begin; row < query.end; ++row) {
      const std::uint32_t code = ranking.features->code(row, ranking.feature);
      up_[row] *= factors.up[code];
      down_[row] *= factors.down[code];
    }
    for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
      const WeightedPair& pair = feedback_->pairs[i];
      pair_weights_[i] *= std::exp(alpha * (ranking(pair.below) - ranking(pair.above)));
    }
  });
  refresh_all(scale_ / old_total);
  return static_cast<double>(total_) / scale_;
}

double Distribution::slope(const CodedRanking& ranking, double alpha) const {
  // Per query: sum of D b e^(alpha b) with b = h(x0) - h(x1), as products of sums over documents.
  const double scale = std::exp2(std::floor(60.0 - std::abs(alpha) * std::numbers::log2e));
  const double factor = inverse_ * scale_ / static_cast<double>(total_) * scale;
  std::vector<std::int64_t> totals(chunks_.size(), 0);
  for_each_chunk([&](std::size_t chunk, const QueryFeedback& query) {
    const std::size_t classes = query.classes;
    std::vector<double> sums(4 * classes, 0.0);  // up, up h, down, down h, each multiplied by its exponential
    for (std::size_t row = query.begin; row < query.end; ++row) {
      const std::uint16_t place = feedback_->classes[row];
      if (place == Feedback::kNone) continue;
      const double h = ranking(row);
      const double up = up_[row] * std::exp(alpha * h);
      const double down = down_[row] * std::exp(-alpha * h);
      sums[place] += up;
      sums[classes + place] += up * h;
      sums[2 * classes + place] += down;
      sums[3 * classes + place] += down * h;
    }
    double slope = 0.0;
    for (std::size_t a = 0; a < classes; ++a)
      for (std::size_t b = a + 1; b < classes; ++b)
        slope += tables_[query.table + a * classes + b] * factor *
                 (sums[classes + a] * sums[2 * classes + b] - sums[a] * sums[3 * classes + b]);
    for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
      const WeightedPair& pair = feedback_->pairs[i];
      const double b = ranking(pair.below) - ranking(pair.above);
      slope += pair_weights_[i] * factor * b * std::exp(alpha * b);
    }
    totals[chunk] += std::llrint(slope);
  });
  std::int64_t total = 0;
  for (const std::int64_t part : totals) total += part;
  return static_cast<double>(total) / scale;
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
    for (std::size_t row = query.begin; row < query.end; ++row) {
      const std::uint16_t place = feedback_->classes[row];
      if (place == Feedback::kNone) continue;
      lowest[place] = std::min(lowest[place], ranking(row));
      highest[place] = std::max(highest[place], ranking(row));
    }
    for (std::size_t a = 0; a < query.classes; ++a)
      for (std::size_t b = a + 1; b < query.classes; ++b)
        take(lowest[b] - highest[a], highest[b] - lowest[a]);
    for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
      const double difference = ranking(feedback_->pairs[i].above) - ranking(feedback_->pairs[i].below);
      take(difference, difference);
    }
  }
  return sides;
}

PairWeights Distribution::pair_weights_of(const CodedRanking& ranking) const {
  const double factor = inverse_ * scale_ / static_cast<double>(total_);
  std::vector<double> right(feedback_->queries.size(), 0.0);
  std::vector<double> wrong(feedback_->queries.size(), 0.0);
  parallel_for(feedback_->queries.size(), 1, [&](std::size_t number) {
    const QueryFeedback& query = feedback_->queries[number];
    const std::size_t classes = query.classes;
    std::vector<double> sums(4 * classes, 0.0);  // up below, up above, down below, down above the threshold
    for (std::size_t row = query.begin; row < query.end; ++row) {
      const std::uint16_t place = feedback_->classes[row];
      if (place == Feedback::kNone) continue;
      const std::size_t above = ranking(row) > 0.5 ? classes : 0;
      sums[above + place] += up_[row];
      sums[2 * classes + above + place] += down_[row];
    }
    for (std::size_t a = 0; a < classes; ++a)
      for (std::size_t b = a + 1; b < classes; ++b) {
        const double weight = tables_[query.table + a * classes + b] * factor;
        right[number] += weight * sums[a] * sums[3 * classes + b];
        wrong[number] += weight * sums[classes + a] * sums[2 * classes + b];
      }
    for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
      const double difference = ranking(feedback_->pairs[i].above) - ranking(feedback_->pairs[i].below);
      if (difference > 0.0) right[number] += pair_weights_[i] * factor;
      if (difference < 0.0) wrong[number] += pair_weights_[i] * factor;
    }
  });
  return {exact_sum(right), exact_sum(wrong)};
}

}  // namespace metafuse::fusion::rankboost
