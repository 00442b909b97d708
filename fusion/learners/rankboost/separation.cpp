#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/parallel.h"
#include "fusion/learners/rankboost/weak_learner_2.h"

namespace metafuse::fusion::rankboost {
namespace {

// Size of the largest query whose order is kept, with one byte per document.
constexpr std::size_t kMostInOrder = 256;

/// Orders rows by bucket, highest first, then by number; rows in bucket 0 are left out.
void order_by_bucket(std::span<const std::uint32_t> buckets, std::size_t bucket_count,
                     std::vector<std::uint32_t>& order) {
  order.clear();
  if (bucket_count > 4 * buckets.size()) {
    for (std::uint32_t row = 0; row < buckets.size(); ++row)
      if (buckets[row] > 0) order.push_back(row);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return buckets[a] != buckets[b] ? buckets[a] > buckets[b] : a < b;
    });
    return;
  }
  // Entry i: where bucket bucket_count - 1 - i begins.
  std::vector<std::uint32_t> starts(bucket_count + 1, 0);
  for (const std::uint32_t bucket : buckets) ++starts[bucket_count - bucket];
  for (std::size_t i = 0; i < bucket_count; ++i) starts[i + 1] += starts[i];
  order.resize(starts[bucket_count - 1]);
  for (std::uint32_t row = 0; row < buckets.size(); ++row)
    if (buckets[row] > 0) order[starts[bucket_count - 1 - buckets[row]]++] = row;
}

}  // namespace

/// What one thread needs while it works on a query.
struct Separation::Scratch {
  SeparationState state{};
  std::vector<double> costs;  // used instead of `state` if there are more classes than the kernels support
  std::vector<double> gains;
  double added[kMostInOrder] = {};
  // For a query with more documents than one byte can number: the bucket of each row, the rows in order, and
  // the factors and classes of one group of rows.
  std::vector<std::uint32_t> buckets;
  std::vector<std::uint32_t> order;
  std::vector<PairFactors> query_factors;  // of the query's rows
  PairFactors factors[kMostInOrder] = {};
  std::uint16_t classes[kMostInOrder] = {};
};

Separation::Separation(const Feedback& feedback, const CodedFeatures& features, unsigned threads)
    : feedback_(&feedback), features_(&features), orders_(features.feature_count()) {
  if (features.is_in_file()) return;
  parallel_for(features.feature_count(), threads, [&](std::size_t feature) { order_documents(feature); });
}

void Separation::order_documents(std::size_t feature) {
  std::vector<std::uint8_t>& order = orders_[feature];
  order.resize(features_->document_count());
  for (const QueryFeedback& query : feedback_->queries) {
    if (query.end - query.begin > kMostInOrder) continue;
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(query.begin);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(query.end);
    std::iota(begin, end, std::uint8_t{0});
    std::sort(begin, end, [&](std::uint8_t a, std::uint8_t b) {
      const std::uint32_t left = features_->code(query.begin + a, feature);
      const std::uint32_t right = features_->code(query.begin + b, feature);
      return left != right ? left > right : a < b;
    });
  }
}

void Separation::prepare(const Weights& weights) {
  weights_ = weights;
  costs_.assign(feedback_->members.size(), 0.0);
  gains_.assign(feedback_->members.size(), 0.0);
  std::vector<double> sums;
  std::vector<PairFactors> factors;
  for (const QueryFeedback& query : feedback_->queries) {
    const std::size_t classes = query.classes;
    sums.assign(2 * classes, 0.0);
    weights.factors->factors_of(query, factors);
    for (std::size_t row = query.begin; row < query.end; ++row) {
      const std::size_t place = feedback_->classes[row];
      if (place == Feedback::kNone) continue;
      sums[place] += factors[row - query.begin].up;
      sums[classes + place] += factors[row - query.begin].down;
    }
    for (std::size_t a = 0; a < classes; ++a)
      for (std::size_t b = a + 1; b < classes; ++b) {
        const double weight = weights.tables[query.table + a * classes + b] * weights.scale;
        costs_[query.first_class + a] += weight * sums[classes + b];
        gains_[query.first_class + b] += weight * sums[a];
      }
  }
}

void Separation::begin_query(const QueryFeedback& query, Scratch& scratch) const {
  const std::size_t classes = query.classes;
  const double* const costs = costs_.data() + query.first_class;
  const double* const gains = gains_.data() + query.first_class;
  if (classes > kKernelClasses) {
    scratch.costs.assign(costs, costs + classes);
    scratch.gains.assign(gains, gains + classes);
    return;
  }
  SeparationState& state = scratch.state;
  std::copy(costs, costs + classes, state.cost);
  std::copy(gains, gains + classes, state.gain);
  for (std::size_t a = 0; a < classes; ++a)
    for (std::size_t b = 0; b < classes; ++b) {
      // A pair with both documents above the threshold is no longer separated. It was added once for each of
      // them, so it is subtracted twice.
      const std::size_t pair = query.table + std::min(a, b) * classes + std::max(a, b);
      const double twice = 2.0 * weights_.scale * weights_.tables[pair];
      state.by_down[b][a] = a < b ? twice : 0.0;
      state.by_up[a][b] = a < b ? twice : 0.0;
    }
}

void Separation::separate_many(const QueryFeedback& query, const MovingDocuments& documents,
                               Scratch& scratch) const {
  const std::size_t classes = query.classes;
  const double* const table = weights_.tables.data() + query.table;
  for (std::size_t k = 0; k < documents.count; ++k) {
    const std::size_t place = documents.classes[documents.order[k]];
    scratch.added[k] = 0.0;
    if (place == Feedback::kNone) continue;
    const PairFactors& document = documents.factors[documents.order[k]];
    scratch.added[k] = document.up * scratch.costs[place] + document.down * scratch.gains[place];
    const double twice = 2.0 * weights_.scale;
    for (std::size_t a = 0; a < place; ++a)
      scratch.costs[a] -= twice * table[a * classes + place] * document.down;
    for (std::size_t b = place + 1; b < classes; ++b)
      scratch.gains[b] -= twice * table[place * classes + b] * document.up;
  }
}

void Separation::separate(const QueryFeedback& query, const MovingDocuments& documents,
                          Scratch& scratch) const {
  if (query.classes == 2)
    separate_two(documents, scratch.state, scratch.added);
  else if (query.classes <= kKernelClasses)
    separate_several(documents, scratch.state, scratch.added);
  else
    separate_many(query, documents, scratch);
}

void Separation::sweep_small(const QueryFeedback& query, std::size_t feature, bool is_one_default,
                             Scratch& scratch, std::vector<std::int64_t>& changes) const {
  const std::uint8_t* const order = orders_[feature].data() + query.begin;
  const std::size_t count = query.end - query.begin;
  const auto code = [&](std::uint8_t row) { return features_->code(query.begin + row, feature); };
  const auto ranked = static_cast<std::size_t>(
      std::partition_point(order, order + count, [&](std::uint8_t row) { return code(row) > 0; }) - order);
  MovingDocuments documents{scratch.query_factors.data(), feedback_->classes.data() + query.begin, order,
                            ranked};
  if (is_one_default) {
    documents.order = order + ranked;
    documents.count = count - ranked;
    separate(query, documents, scratch);
    for (std::size_t k = 0; k < documents.count; ++k) changes.back() += std::llrint(scratch.added[k]);
    documents.order = order;
    documents.count = ranked;
  }
  separate(query, documents, scratch);
  for (std::size_t k = 0; k < ranked; ++k) changes[code(order[k])] += std::llrint(scratch.added[k]);
}

void Separation::sweep_large(const QueryFeedback& query, std::size_t feature, bool is_one_default,
                             Scratch& scratch, std::vector<std::int64_t>& changes) const {
  constexpr auto kInOrder = [] {
    std::array<std::uint8_t, kMostInOrder> numbers{};
    for (std::size_t i = 0; i < kMostInOrder; ++i) numbers[i] = static_cast<std::uint8_t>(i);
    return numbers;
  }();
  const auto unranked = is_one_default ? static_cast<std::uint32_t>(changes.size() - 1) : 0U;
  scratch.buckets.clear();
  for (std::size_t row = query.begin; row < query.end; ++row) {
    const std::uint32_t code = features_->code(row, feature);
    scratch.buckets.push_back(code == 0 ? unranked : code);
  }
  order_by_bucket(scratch.buckets, changes.size(), scratch.order);
  const std::span<const std::uint32_t> order = scratch.order;
  const std::size_t end = order.size();
  for (std::size_t at = 0; at < end; at += kMostInOrder) {
    const std::size_t count = std::min(kMostInOrder, end - at);
    for (std::size_t k = 0; k < count; ++k) {
      scratch.factors[k] = scratch.query_factors[order[at + k]];
      scratch.classes[k] = feedback_->classes[query.begin + order[at + k]];
    }
    separate(query, {scratch.factors, scratch.classes, kInOrder.data(), count}, scratch);
    for (std::size_t k = 0; k < count; ++k)
      changes[scratch.buckets[order[at + k]]] += std::llrint(scratch.added[k]);
  }
}

void Separation::add_pairs(const QueryFeedback& query, std::size_t feature, bool is_one_default,
                           std::vector<std::int64_t>& changes) const {
  const auto bucket_of = [&](std::size_t row) -> std::size_t {
    const std::uint32_t code = features_->code(row, feature);
    return code == 0 && is_one_default ? changes.size() - 1 : code;
  };
  for (std::size_t i = query.pairs_begin; i < query.pairs_end; ++i) {
    const std::size_t below = bucket_of(feedback_->pairs[i].below);
    const std::size_t above = bucket_of(feedback_->pairs[i].above);
    if (below == above) continue;
    const std::int64_t weight = std::llrint(weights_.pairs[i] * weights_.scale);
    changes[std::max(above, below)] += weight;
    if (std::min(above, below) > 0) changes[std::min(above, below)] -= weight;
  }
}

std::vector<std::int64_t> Separation::sweep(std::size_t feature, bool is_one_default) const {
  std::vector<std::int64_t> changes(features_->thresholds(feature).size() + 2, 0);
  Scratch scratch;
  for (const QueryFeedback& query : feedback_->queries) {
    if (query.classes > 1) {
      begin_query(query, scratch);
      weights_.factors->factors_of(query, scratch.query_factors);
      const bool is_small = !orders_[feature].empty() && query.end - query.begin <= kMostInOrder;
      if (is_small)
        sweep_small(query, feature, is_one_default, scratch, changes);
      else
        sweep_large(query, feature, is_one_default, scratch, changes);
    }
    add_pairs(query, feature, is_one_default, changes);
  }
  return changes;
}

}  // namespace metafuse::fusion::rankboost
