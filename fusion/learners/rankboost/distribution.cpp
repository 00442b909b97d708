#include "fusion/learners/rankboost/distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/contract.h"
#include "core/parallel.h"
#include "core/portable_math.h"
#include "fusion/learners/rankboost/kernels.h"

namespace metafuse::fusion::rankboost {
namespace {

constexpr std::size_t kChunkRows = 4096;
constexpr double kChangeUnits = 0x1p44;
// No alpha is chosen that makes Z larger than 1, and the potentials' absolute sum is at most twice the total:
// every sum of potentials stays below 2^62.
constexpr double kScale = 0x1p60;
constexpr std::int64_t kLeastTotal = std::int64_t{1} << 50;  // below it the potentials have too few digits
constexpr int kMostRaises = 16;                              // to 2^-960, where doubles end

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

Distribution::Distribution(const Feedback& feedback, unsigned threads, Communicator* communicator)
    : feedback_(&feedback),
      threads_(threads),
      communicator_(communicator),
      chunks_(chunk_bounds(feedback)),
      tables_(feedback.weights.size()),
      pair_weights_(feedback.pairs.size()),
      potentials_(feedback.classes.size(), 0) {
  assign_slots();
}

void Distribution::assign_slots() {
  run_starts_.reserve(feedback_->class_count + 1);
  std::size_t rows = 0;
  for (const QueryFeedback& query : feedback_->queries) rows += query.end - query.begin;
  rows_.reserve(rows);
  std::vector<std::size_t> next;
  for (const QueryFeedback& query : feedback_->queries) {
    const std::size_t begin = rows_.size();
    next.assign(query.classes + 1, 0);
    for (std::size_t row = query.begin; row < query.end; ++row)
      if (feedback_->classes[row] != Feedback::kNone) ++next[feedback_->classes[row] + 1U];
    for (std::size_t place = 0; place < query.classes; ++place) {
      next[place + 1] += next[place];
      run_starts_.push_back(begin + next[place]);
    }
    rows_.resize(begin + next[query.classes]);
    for (std::size_t row = query.begin; row < query.end; ++row)
      if (feedback_->classes[row] != Feedback::kNone)
        rows_[begin + next[feedback_->classes[row]]++] = static_cast<std::uint32_t>(row);
  }
  run_starts_.push_back(rows_.size());
  up_.assign(rows_.size(), 1.0);
  down_.assign(rows_.size(), 1.0);
  before_.assign(rows_.size(), 0.0F);
}

template <class Work>
void Distribution::for_each_chunk(const Work& work) const {
  parallel_for(chunks_.size() - 1, threads_, [&](std::size_t chunk) {
    for (std::size_t i = chunks_[chunk]; i < chunks_[chunk + 1]; ++i) work(chunk, feedback_->queries[i]);
  });
}

void Distribution::anchor(std::span<const double> scores, double log_normaliser) {
  const double old_total = static_cast<double>(total_);
  inverse_ = 1.0;
  scale_ = kScale;
  std::vector<Sums> sums(chunks_.size() - 1);
  for_each_chunk([&](std::size_t chunk, const QueryFeedback& query) {
    anchor_query(query, scores, log_normaliser);
    refresh(query, scale_ / old_total, sums[chunk]);
  });
  finish_refresh(sums);
}

void Distribution::anchor_query(const QueryFeedback& query, std::span<const double> scores,
                                double log_normaliser) {
  const std::size_t classes = query.classes;
  std::vector<double> highest(classes, -std::numeric_limits<double>::infinity());
  std::vector<double> lowest(classes, std::numeric_limits<double>::infinity());
  for (std::size_t place = 0; place < classes; ++place) {
    const Run run = run_of(query, place);
    for (std::size_t slot = run.begin; slot < run.end; ++slot) {
      highest[place] = std::max(highest[place], scores[rows_[slot]]);
      lowest[place] = std::min(lowest[place], scores[rows_[slot]]);
    }
    for (std::size_t slot = run.begin; slot < run.end; ++slot) {
      up_[slot] = portable_exp(scores[rows_[slot]] - highest[place]);
      down_[slot] = portable_exp(lowest[place] - scores[rows_[slot]]);
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
  double* const ups =
      sums.scratch.data();  // sums of up a class, then of down, then the factors of a potential
  double* const downs = ups + classes;
  double* const gains = downs + classes;
  double* const costs = gains + classes;
  for (std::size_t place = 0; place < classes; ++place) {
    const Run run = run_of(query, place);
    if (place + 1 < classes) ups[place] = sum_in_lanes(up_.data() + run.begin, run.end - run.begin);
    if (place > 0) downs[place] = sum_in_lanes(down_.data() + run.begin, run.end - run.begin);
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
  const Run all{run_starts_[query.first_class], run_starts_[query.first_class + classes]};
  const std::uint32_t* const rows = rows_.data() + all.begin;
  sums.potentials.resize(std::max(sums.potentials.size(), all.end - all.begin));
  for (std::size_t place = 0; place < classes; ++place) {
    const Run run = run_of(query, place);
    const PotentialTerms terms{place > 0 ? down_.data() + run.begin : nullptr,
                               place + 1 < classes || place == 0 ? up_.data() + run.begin : nullptr,
                               gains[place], costs[place]};
    sums.change += make_potentials(terms, old_factor, before_.data() + run.begin,
                                   sums.potentials.data() + (run.begin - all.begin), run.end - run.begin);
  }
  scatter(sums.potentials.data(), rows, potentials_.data(), all.end - all.begin);
  sums.total += std::llrint(sum);
  if (query.pairs_begin < query.pairs_end) add_pairs(query, sums);
}

void Distribution::add_pairs(const QueryFeedback& query, Sums& sums) {
  const double factor = inverse_ * scale_;
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
  sums.change = std::numeric_limits<double>::infinity();  // how far these moved is not kept
}

void Distribution::finish_refresh(std::span<const Sums> sums) {
  std::int64_t total = 0;
  double change = 0.0;
  for (const Sums& part : sums) {
    total += part.total;
    change += part.change;
  }
  // The change is a bound, so that it may be rounded up to whole units; no change is larger than a few
  // totals.
  const double units = std::min(std::ceil(change / scale_ * kChangeUnits), 16.0 * kChangeUnits);
  std::int64_t both[] = {total, static_cast<std::int64_t>(units)};
  sum_over_processes(communicator_, both);
  total_ = both[0];
  // A little more than half the change, for what rounding took away: of all potentials before, whose absolute
  // sum is at most 2, one part in 2^24, since they are kept in single precision for this bound alone.
  largest_change_ = 0.5 * (1.0 + 1e-9) * (static_cast<double>(both[1]) / kChangeUnits) + 0x1p-23;
}

void Distribution::multiply(const QueryFeedback& query, const CodedRanking& ranking, double alpha,
                            const Factors& factors) {
  const Run all{run_starts_[query.first_class], run_starts_[query.first_class + query.classes]};
  if (ranking.features->is_byte(ranking.feature)) {
    const std::uint8_t* const codes = ranking.features->bytes(ranking.feature);
    const std::size_t top = query.classes > 0 ? run_of(query, query.classes - 1).begin : all.end;
    const std::size_t bottom = query.classes > 0 ? std::min(run_of(query, 0).end, top) : all.begin;
    // Nothing stands above the top class or below the bottom class.
    multiply_by_code(up_.data() + all.begin, factors.up.data(), codes, rows_.data() + all.begin,
                     bottom - all.begin);
    multiply_both_by_code(up_.data() + bottom, down_.data() + bottom, factors.both.data(), codes,
                          rows_.data() + bottom, top - bottom);
    multiply_by_code(down_.data() + top, factors.down.data(), codes, rows_.data() + top, all.end - top);
  } else {
    for (std::size_t slot = all.begin; slot < all.end; ++slot) {
      const std::uint32_t code = ranking.features->code(rows_[slot], ranking.feature);
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
    // Of a thresholded feature most values are those of the code before.
    const bool is_new = code == 0 || value != ranking.values[code - 1];
    factors.both.push_back(is_new ? PairFactors{portable_exp(alpha * value), portable_exp(-alpha * value)}
                                  : factors.both.back());
    factors.up.push_back(factors.both.back().up);
    factors.down.push_back(factors.both.back().down);
  }
  const double old_total = static_cast<double>(total_);
  inverse_ *= scale_ / old_total;
  scale_ = kScale;
  std::vector<Sums> sums(chunks_.size() - 1);
  for_each_chunk([&](std::size_t chunk, const QueryFeedback& query) {
    multiply(query, ranking, alpha, factors);
    refresh(query, scale_ / old_total, sums[chunk]);
  });
  finish_refresh(sums);
  return raised_total();
}

double Distribution::raised_total() {
  double z = 1.0;  // what the weights were divided by
  for (int tries = 0; total_ < kLeastTotal && tries < kMostRaises; ++tries) {
    const double part = total_ > 0 ? static_cast<double>(total_) / scale_ : 1.0 / kScale;
    inverse_ /= part;
    z *= part;
    std::vector<Sums> sums(chunks_.size() - 1);
    for_each_chunk([&](std::size_t chunk, const QueryFeedback& query) {
      refresh(query, 1.0, sums[chunk]);
      sums[chunk].change = std::numeric_limits<double>::infinity();  // what was before is overwritten
    });
    finish_refresh(sums);
  }
  require(total_ > 0, "a distribution has weight");
  return z * (static_cast<double>(total_) / scale_);
}

}  // namespace metafuse::fusion::rankboost
