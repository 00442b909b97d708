#include "fusion/learners/rankboost/distribution.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/parallel.h"
#include "core/portable_math.h"
#include "fusion/data/communicator.h"
#include "fusion/learners/rankboost/kernels.h"

namespace metafuse::fusion::rankboost {

namespace {

constexpr std::size_t kChunkRows = 4096;
constexpr double kChangeUnits = 0x1p44;
// No alpha is chosen that makes Z larger than 1, and the potentials' absolute sum is at most twice the total:
// every sum of potentials stays below 2^62.
constexpr double kScale = 0x1p60;
// A smaller total leaves the potentials too few digits.
constexpr std::int64_t kLeastTotal = std::int64_t{1} << 50;
constexpr int kMostRaises = 16;  // down to 2^-960, near the smallest double

/// Splits the queries into chunks of about kChunkRows rows, which threads take one at a time.
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

Slots::Slots(const Feedback& feedback) : starts_(feedback.members.size() + 1, 0) {
  std::partial_sum(feedback.members.begin(), feedback.members.end(), starts_.begin() + 1);
  rows_.resize(starts_.back());
  std::vector<std::size_t> next = starts_;
  for (const QueryFeedback& query : feedback.queries)
    for (std::size_t row = query.begin; row < query.end; ++row)
      if (feedback.classes[row] != Feedback::kNone)
        rows_[next[query.first_class + feedback.classes[row]]++] = static_cast<std::uint32_t>(row);
}

Distribution::Distribution(const Feedback& feedback, unsigned threads, Communicator* communicator,
                           std::size_t parts)
    : feedback_(&feedback),
      threads_(threads),
      communicator_(communicator),
      chunks_(chunk_bounds(feedback)),
      part_rows_(parts + 1, 0),
      slots_(feedback),
      up_(slots_.size(), 1.0),
      down_(slots_.size(), 1.0),
      before_(slots_.size(), 0.0F),
      tables_(feedback.weights.size()),
      pair_weights_(feedback.pairs.size()),
      potentials_(feedback.classes.size(), 0) {
  totals_.largest_changes.resize(parts);
  for (std::size_t part = 1; part < parts; ++part)
    part_rows_[part] = feedback.queries[chunks_[first_chunk(part)]].begin;
  part_rows_[parts] = feedback.classes.size();
}

std::size_t Distribution::first_chunk(std::size_t part) const {
  return part * (chunks_.size() - 1) / totals_.largest_changes.size();
}

template <class Work>
void Distribution::for_each_chunk(const Work& work) const {
  parallel_for(chunks_.size() - 1, threads_, [&](std::size_t chunk) {
    for (std::size_t i = chunks_[chunk]; i < chunks_[chunk + 1]; ++i) work(chunk, feedback_->queries[i]);
  });
}

void Distribution::anchor(std::span<const double> scores, double log_normaliser) {
  const double old_total = static_cast<double>(totals_.total);
  totals_.inverse = 1.0;
  totals_.scale = kScale;
  std::vector<Sums> sums(chunks_.size() - 1);
  for_each_chunk([&](std::size_t chunk, const QueryFeedback& query) {
    anchor_query(query, scores, log_normaliser);
    refresh(query, totals_.scale / old_total, sums[chunk]);
  });
  finish_refresh(sums);
}

void Distribution::anchor_query(const QueryFeedback& query, std::span<const double> scores,
                                double log_normaliser) {
  const std::size_t classes = query.classes;
  std::vector<double> highest(classes, -std::numeric_limits<double>::infinity());
  std::vector<double> lowest(classes, std::numeric_limits<double>::infinity());
  for (std::size_t place = 0; place < classes; ++place) {
    const Run run = slots_.run_of(query, place);
    for (std::size_t slot = run.begin; slot < run.end; ++slot) {
      highest[place] = std::max(highest[place], scores[slots_.row(slot)]);
      lowest[place] = std::min(lowest[place], scores[slots_.row(slot)]);
    }
    for (std::size_t slot = run.begin; slot < run.end; ++slot) {
      up_[slot] = portable_exp(scores[slots_.row(slot)] - highest[place]);
      down_[slot] = portable_exp(lowest[place] - scores[slots_.row(slot)]);
    }
  }
  for (std::size_t a = 0; a < classes; ++a)
    for (std::size_t b = a + 1; b < classes; ++b) {
      const std::size_t at = query.table + a * classes + b;
      tables_[at] = feedback_->weights[at] * portable_exp(highest[a] - lowest[b] - log_normaliser);
    }
  for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
    const WeightedPair& pair = feedback_->pairs[i];
    pair_weights_[i] = pair.weight * portable_exp(scores[pair.below] - scores[pair.above] - log_normaliser);
  }
}

void Distribution::refresh(const QueryFeedback& query, double old_factor, Sums& sums) {
  const std::size_t classes = query.classes;
  sums.scratch.assign(4 * classes, 0.0);
  // Sums of up per class, then of down, then the factors of a potential.
  double* const ups = sums.scratch.data();
  double* const downs = ups + classes;
  double* const gains = downs + classes;
  double* const costs = gains + classes;
  for (std::size_t place = 0; place < classes; ++place) {
    const Run run = slots_.run_of(query, place);
    if (place + 1 < classes) ups[place] = sum_in_lanes(up_.data() + run.begin, run.end - run.begin);
    if (place > 0) downs[place] = sum_in_lanes(down_.data() + run.begin, run.end - run.begin);
  }
  double sum = 0.0;
  const double factor = Distribution::factor();
  for (std::size_t a = 0; a < classes; ++a)
    for (std::size_t b = a + 1; b < classes; ++b) {
      const double weight = tables_[query.table + a * classes + b] * factor;
      gains[b] += weight * ups[a];
      costs[a] += weight * downs[b];
      sum += weight * ups[a] * downs[b];
    }
  const Run all = slots_.all_of(query);
  sums.potentials.resize(std::max(sums.potentials.size(), all.end - all.begin));
  for (std::size_t place = 0; place < classes; ++place) {
    const Run run = slots_.run_of(query, place);
    const PotentialTerms terms{place > 0 ? down_.data() + run.begin : nullptr,
                               place + 1 < classes || place == 0 ? up_.data() + run.begin : nullptr,
                               gains[place], costs[place]};
    sums.change += make_potentials(terms, old_factor, before_.data() + run.begin,
                                   sums.potentials.data() + (run.begin - all.begin), run.end - run.begin);
  }
  scatter(sums.potentials.data(), slots_.rows_from(all.begin), potentials_.data(), all.end - all.begin);
  sums.total += std::llrint(sum);
  if (query.pairs_begin < query.pairs_end) add_pairs(query, sums);
}

void Distribution::add_pairs(const QueryFeedback& query, Sums& sums) {
  const double factor = Distribution::factor();
  std::vector<double> potentials(query.end - query.begin, 0.0);
  double sum = 0.0;
  for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
    const double weight = pair_weights_[i] * factor;
    potentials[feedback_->pairs[i].above - query.begin] += weight;
    potentials[feedback_->pairs[i].below - query.begin] -= weight;
    sum += weight;
  }
  for (std::size_t row = query.begin; row < query.end; ++row) {
    const std::int64_t fixed = std::llrint(potentials[row - query.begin]);
    potentials_[row] = (feedback_->classes[row] == Feedback::kNone ? 0 : potentials_[row]) + fixed;
  }
  sums.total += std::llrint(sum);
  sums.change = std::numeric_limits<double>::infinity();  // the previous potentials of pairs are not kept
}

void Distribution::finish_refresh(std::span<const Sums> sums) {
  std::vector<std::int64_t> numbers{0};  // the total, then the change of each part
  for (std::size_t part = 0; part < totals_.largest_changes.size(); ++part) {
    double change = 0.0;
    for (const Sums& chunk : sums.subspan(first_chunk(part), first_chunk(part + 1) - first_chunk(part))) {
      numbers[0] += chunk.total;
      change += chunk.change;
    }
    // The change is an upper bound, so it may be rounded up to whole units. No change exceeds a few totals.
    numbers.push_back(static_cast<std::int64_t>(
        std::min(std::ceil(change / totals_.scale * kChangeUnits), 16.0 * kChangeUnits)));
  }
  sum_over_processes(communicator_, numbers);
  totals_.total = numbers[0];
  // Half the change, rounded up. The previous potentials are kept in single precision, for this bound alone:
  // that loses at most 2^-24 of them, and their absolute sum is at most 2.
  for (std::size_t part = 0; part < totals_.largest_changes.size(); ++part)
    totals_.largest_changes[part] =
        0.5 * (1.0 + 1e-9) * (static_cast<double>(numbers[part + 1]) / kChangeUnits) + 0x1p-23;
}

void Distribution::multiply(const QueryFeedback& query, const CodedRanking& ranking, double alpha,
                            const Factors& factors) {
  const Run all = slots_.all_of(query);
  if (ranking.features->is_byte(ranking.feature)) {
    const std::uint8_t* const codes = ranking.features->bytes(ranking.feature);
    const std::size_t top = query.classes > 0 ? slots_.run_of(query, query.classes - 1).begin : all.end;
    const std::size_t bottom = query.classes > 0 ? std::min(slots_.run_of(query, 0).end, top) : all.begin;
    // Nothing stands above the top class or below the bottom class.
    multiply_by_code(up_.data() + all.begin, factors.up.data(), codes, slots_.rows_from(all.begin),
                     bottom - all.begin);
    multiply_both_by_code(up_.data() + bottom, down_.data() + bottom, factors.both.data(), codes,
                          slots_.rows_from(bottom), top - bottom);
    multiply_by_code(down_.data() + top, factors.down.data(), codes, slots_.rows_from(top), all.end - top);
  } else {
    for (std::size_t slot = all.begin; slot < all.end; ++slot) {
      const std::uint32_t code = ranking.features->code(slots_.row(slot), ranking.feature);
      up_[slot] *= factors.up[code];
      down_[slot] *= factors.down[code];
    }
  }
  for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
    const WeightedPair& pair = feedback_->pairs[i];
    pair_weights_[i] *= portable_exp(alpha * (ranking(pair.below) - ranking(pair.above)));
  }
}

double Distribution::update(const CodedRanking& ranking, double alpha) {
  Factors factors;
  for (std::size_t code = 0; code < ranking.values.size(); ++code) {
    const double value = ranking.values[code];
    // In a thresholded feature, most codes have the value of the code before.
    const bool is_new = code == 0 || value != ranking.values[code - 1];
    factors.both.push_back(is_new ? PairFactors{portable_exp(alpha * value), portable_exp(-alpha * value)}
                                  : factors.both.back());
    factors.up.push_back(factors.both.back().up);
    factors.down.push_back(factors.both.back().down);
  }
  const double old_total = static_cast<double>(totals_.total);
  totals_.inverse *= totals_.scale / old_total;
  totals_.scale = kScale;
  std::vector<Sums> sums(chunks_.size() - 1);
  for_each_chunk([&](std::size_t chunk, const QueryFeedback& query) {
    multiply(query, ranking, alpha, factors);
    refresh(query, totals_.scale / old_total, sums[chunk]);
  });
  finish_refresh(sums);
  return raised_total();
}

double Distribution::raised_total() {
  double z = 1.0;  // what the weights were divided by
  for (int tries = 0; totals_.total < kLeastTotal && tries < kMostRaises; ++tries) {
    const double part = totals_.total > 0 ? static_cast<double>(totals_.total) / totals_.scale : 1.0 / kScale;
    totals_.inverse /= part;
    z *= part;
    std::vector<Sums> sums(chunks_.size() - 1);
    for_each_chunk([&](std::size_t chunk, const QueryFeedback& query) {
      refresh(query, 1.0, sums[chunk]);
      sums[chunk].change =
          std::numeric_limits<double>::infinity();  // the previous potentials are overwritten
    });
    finish_refresh(sums);
  }
  return totals_.total > 0 ? z * (static_cast<double>(totals_.total) / totals_.scale) : 0.0;
}

void Distribution::factors_of(const QueryFeedback& query, std::vector<PairFactors>& factors) const {
  factors.resize(query.end - query.begin);
  const Run all = slots_.all_of(query);
  if (query.classes < 2 || all.end - all.begin < factors.size())
    std::fill(factors.begin(), factors.end(), PairFactors{});
  if (query.classes < 2) return;
  const auto factor = [&](std::size_t slot) -> PairFactors& {
    return factors[slots_.row(slot) - query.begin];
  };
  const std::size_t lowest_end = slots_.run_of(query, 0).end;
  const std::size_t highest_begin = slots_.run_of(query, query.classes - 1).begin;
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
    const Run run = slots_.run_of(query, place);
    for (std::size_t slot = run.begin; slot < run.end; ++slot) {
      const double h = ranking(slots_.row(slot));
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
  // Only the sign of a large slope matters: the terms of the opposite sign sum to at most 1, so a query whose
  // slope exceeds 1 decides the sign and may be clamped.
  constexpr double kDecides = 2.0;
  const double scale = std::ldexp(
      1.0, 60 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(feedback_->query_count))));
  const double factor = Distribution::factor() / static_cast<double>(totals_.total);
  std::vector<std::int64_t> totals(chunks_.size() - 1, 0);
  for_each_chunk([&](std::size_t chunk, const QueryFeedback& query) {
    const double slope = slope_of(query, ranking, alpha, factor);
    totals[chunk] += std::llrint(std::clamp(slope, -kDecides, kDecides) * scale);
  });
  const std::int64_t total = std::accumulate(totals.begin(), totals.end(), std::int64_t{0});
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
      const Run run = slots_.run_of(query, place);
      for (std::size_t slot = run.begin; slot < run.end; ++slot) {
        lowest[place] = std::min(lowest[place], ranking(slots_.row(slot)));
        highest[place] = std::max(highest[place], ranking(slots_.row(slot)));
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
  const double factor = Distribution::factor() / static_cast<double>(totals_.total);
  std::vector<double> right;
  std::vector<double> wrong;
  for (const QueryFeedback& query : feedback_->queries) {
    const std::size_t classes = query.classes;
    std::vector<double> sums(4 * classes, 0.0);  // up below, up above, down below, down above the threshold
    for (std::size_t place = 0; place < classes; ++place) {
      const Run run = slots_.run_of(query, place);
      for (std::size_t slot = run.begin; slot < run.end; ++slot) {
        const std::size_t above = ranking(slots_.row(slot)) > 0.5 ? classes : 0;
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
