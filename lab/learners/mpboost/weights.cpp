#include "lab/learners/mpboost/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/parallel.h"
#include "fusion/learners/common/feedback_grades.h"

namespace metafuse::lab::mpboost {

namespace {

using SumsByCode = std::vector<std::vector<double>>;  // by feature, then by code

/// Turns sums per code into sums per threshold: threshold j fires for codes above j.
SumsByCode sums_above(SumsByCode by_code) {
  for (std::vector<double>& sums : by_code) {
    double above = 0.0;
    for (std::size_t code = sums.size(); code-- > 0;) {
      const double here = sums[code];
      sums[code] = above;
      above += here;
    }
    sums.pop_back();
  }
  return by_code;
}

SumsByCode empty_codes(const CodedFeatures& features) {
  SumsByCode codes(features.feature_count());
  for (std::size_t f = 0; f < codes.size(); ++f) codes[f].assign(features.thresholds(f).size() + 1, 0.0);
  return codes;
}

// Beyond this exponent, products and sums of exp() could overflow a double.
constexpr double kLargestExponent = 300.0;

}  // namespace

bool FactoredWeights::can_hold(const TrainingSet& set) {
  if (!set.pairs.empty()) return false;
  return std::all_of(set.queries.begin(), set.queries.end(),
                     [&](const QueryRange& range) { return grades_of(set, range).size() <= kMostGrades; });
}

FactoredWeights::FactoredWeights(const TrainingSet& set, const CodedFeatures& features,
                                 const BoostOptions& options)
    : features_(features), threads_(options.threads), document_count_(set.matrix.document_count()) {
  for (const QueryRange& range : set.queries) add_query(set, range, options);
  // The weights are scaled so that their sum at F = 0 is 1.
  for (Query& query : queries_)
    for (double& w : query.weight) w /= total_;
  mean_distance_ /= total_;
  sort_orders();
  set_scores(std::vector<double>(document_count_, 0.0));
}

/// Appends a query, and adds its pairs to total_ and, times their distance, to mean_distance_.
void FactoredWeights::add_query(const TrainingSet& set, const QueryRange& range,
                                const BoostOptions& options) {
  const std::vector<double> grades = grades_of(set, range);
  if (grades.size() < 2) return;
  Query query;
  query.grades = grades.size();
  query.first = values_.size();
  std::vector<double> counts(grades.size(), 0.0);
  for (std::size_t x = range.begin; x < range.end; ++x) {
    if (!is_in_feedback(set, x)) continue;
    const std::size_t place = place_of(grades, feedback_grade(set, x));
    query.documents.push_back(static_cast<std::uint32_t>(x));
    query.grade.push_back(static_cast<std::uint8_t>(place));
    counts[place] += 1.0;
  }
  values_.resize(values_.size() + query.documents.size() * query.grades, 0.0);
  query.distance.assign(query.grades * query.grades, 0.0);
  query.weight.assign(query.grades * query.grades, 0.0);
  query.sums.assign(query.grades * query.grades, 0.0);
  double pairs = 0.0;
  double weight = 0.0;
  for (std::size_t b = 0; b < query.grades; ++b)
    for (std::size_t a = b + 1; a < query.grades; ++a) {
      const double d = options.distance_of(grades[b], grades[a]);
      const double w = grade_weight(set.feedback, grades[b], grades[a]);
      query.distance[a * query.grades + b] = query.distance[b * query.grades + a] = d;
      query.weight[a * query.grades + b] = query.weight[b * query.grades + a] = w;
      pairs += counts[a] * counts[b];
      weight += w * counts[a] * counts[b];
    }
  pair_count_ += static_cast<std::size_t>(pairs);
  // The weights of very low grades may all be 0; such a query then adds nothing.
  const double share = weight > 0.0 ? weight_of_query(set.feedback, range, weight) / weight : 0.0;
  for (double& w : query.weight) w *= share;
  for (std::size_t b = 0; b < query.grades; ++b)
    for (std::size_t a = b + 1; a < query.grades; ++a) {
      const double of_pairs = counts[a] * counts[b] * query.weight[a * query.grades + b];
      total_ += of_pairs;
      mean_distance_ += of_pairs * query.distance[a * query.grades + b];
    }
  queries_.push_back(std::move(query));
}

void FactoredWeights::sort_orders() {
  orders_.resize(queries_.size() * features_.feature_count());
  for (std::size_t q = 0; q < queries_.size(); ++q)
    for (std::size_t f = 0; f < features_.feature_count(); ++f) {
      std::vector<std::uint32_t>& order = orders_[q * features_.feature_count() + f];
      const std::vector<std::uint32_t>& documents = queries_[q].documents;
      for (std::uint32_t i = 0; i < documents.size(); ++i)
        if (features_.code(documents[i], f) > 0) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](std::uint32_t i, std::uint32_t j) {
        return features_.code(documents[i], f) > features_.code(documents[j], f);
      });
      order.shrink_to_fit();
    }
}

bool FactoredWeights::set_scores(const std::vector<double>& scores) {
  std::vector<std::uint8_t> is_finite(queries_.size(), 0);
  constexpr std::size_t kQueries = 64;  // taken by a thread at a time
  parallel_for((queries_.size() + kQueries - 1) / kQueries, threads_, [&](std::size_t chunk) {
    for (std::size_t q = chunk * kQueries; q < std::min(queries_.size(), (chunk + 1) * kQueries); ++q)
      is_finite[q] = set_scores(queries_[q], scores) ? 1 : 0;
  });
  total_ = 0.0;
  for (const Query& query : queries_)
    for (std::size_t b = 0; b < query.grades; ++b)
      for (std::size_t a = b + 1; a < query.grades; ++a)
        total_ += query.weight[a * query.grades + b] * query.sums[a * query.grades + b] *
                  query.sums[b * query.grades + a];
  return std::find(is_finite.begin(), is_finite.end(), 0) == is_finite.end();
}

/// Computes the values and sums of one query; false if they leave the range of a double.
bool FactoredWeights::set_scores(Query& query, const std::vector<double>& scores) {
  const std::size_t grades = query.grades;
  double low = scores[query.documents.front()];
  double high = low;
  for (const std::uint32_t x : query.documents) {
    low = std::min(low, scores[x]);
    high = std::max(high, scores[x]);
  }
  const double middle = 0.5 * (low + high);  // cancels in every product of a pair
  const double widest = *std::max_element(query.distance.begin(), query.distance.end());
  if (widest * (high - middle) > kLargestExponent) return false;
  std::fill(query.sums.begin(), query.sums.end(), 0.0);
  for (std::size_t i = 0; i < query.documents.size(); ++i) {
    const std::size_t a = query.grade[i];
    const double score = scores[query.documents[i]] - middle;
    double* value = values_.data() + query.first + i * grades;
    for (std::size_t b = 0; b < grades; ++b) {
      if (b == a) continue;
      value[b] = std::exp((b < a ? -score : score) * query.distance[a * grades + b]);
      query.sums[a * grades + b] += value[b];
    }
  }
  return true;
}

/// Per document: the sum of w * dist over the pairs in which it is the better one, minus the sum over those
/// in which it is the worse one.
std::vector<double> FactoredWeights::potentials() const {
  std::vector<double> potential(document_count_, 0.0);
  for (const Query& query : queries_) {
    const std::size_t grades = query.grades;
    for (std::size_t i = 0; i < query.documents.size(); ++i) {
      const std::size_t a = query.grade[i];
      const double* value = values_.data() + query.first + i * grades;
      double sum = 0.0;
      for (std::size_t b = 0; b < grades; ++b) {
        if (b == a) continue;
        const std::size_t cell = a * grades + b;
        const double weight =
            query.weight[cell] * query.distance[cell] * value[b] * query.sums[b * grades + a];
        sum += b < a ? weight : -weight;
      }
      potential[query.documents[i]] = sum;
    }
  }
  return potential;
}

/// Adds to each document's code the change in the weight of separated pairs when that document joins the
/// documents that fire.
void FactoredWeights::sweep(const Query& query, std::size_t q, std::size_t feature,
                            std::vector<double>& by_code) const {
  const std::size_t grades = query.grades;
  double firing[kMostGrades * kMostGrades] = {};  // as Query::sums, over the documents that already fire
  for (const std::uint32_t i : orders_[q * features_.feature_count() + feature]) {
    const std::size_t a = query.grade[i];
    const double* value = values_.data() + query.first + i * grades;
    double growth = 0.0;
    for (std::size_t b = 0; b < grades; ++b) {
      if (b == a) continue;
      growth += query.weight[a * grades + b] * value[b] *
                (query.sums[b * grades + a] - 2.0 * firing[b * grades + a]);
      firing[a * grades + b] += value[b];
    }
    by_code[features_.code(query.documents[i], feature)] += growth;
  }
}

StumpSums FactoredWeights::stump_sums() const {
  StumpSums sums{empty_codes(features_), empty_codes(features_)};
  const std::vector<double> potential = potentials();
  parallel_for(features_.feature_count(), threads_, [&](std::size_t f) {
    for (std::size_t x = 0; x < potential.size(); ++x)
      sums.numerator[f][features_.code(x, f)] += potential[x];
    for (std::size_t q = 0; q < queries_.size(); ++q) sweep(queries_[q], q, f, sums.denominator[f]);
  });
  return {sums_above(std::move(sums.numerator)), sums_above(std::move(sums.denominator))};
}

PairWeights::PairWeights(const TrainingSet& set, const CodedFeatures& features,
                         const rankboost_plus::PairRows& rows, const BoostOptions& options)
    : features_(features), threads_(options.threads) {
  pairs_.reserve(rows.pair_count);
  for (const rankboost_plus::PairRow& row : rows.rows) {
    const rankboost_plus::BelowClass& below = rows.classes[row.below_class];
    for (std::uint32_t k = below.first; k < below.first + below.count; ++k) {
      const double low = feedback_grade(set, rows.below[k]);
      const double high = feedback_grade(set, row.above);
      const double d = low < high ? options.distance_of(low, high) : options.distance_of(0.0, 1.0);
      pairs_.push_back({rows.below[k], row.above, d, row.initial, row.initial});
      mean_distance_ += row.initial * d;
    }
  }
}

bool PairWeights::set_scores(const std::vector<double>& scores) {
  constexpr std::size_t kChunk = std::size_t{1} << 14;
  std::vector<double> totals((pairs_.size() + kChunk - 1) / kChunk, 0.0);
  parallel_for(totals.size(), threads_, [&](std::size_t chunk) {
    for (std::size_t p = chunk * kChunk; p < std::min(pairs_.size(), (chunk + 1) * kChunk); ++p) {
      Pair& pair = pairs_[p];
      pair.weight = pair.initial * std::exp(-pair.distance * (scores[pair.above] - scores[pair.below]));
      totals[chunk] += pair.weight;
    }
  });
  total_ = std::accumulate(totals.begin(), totals.end(), 0.0);
  return total_ < std::numeric_limits<double>::max();
}

StumpSums PairWeights::stump_sums() const {
  StumpSums sums{empty_codes(features_), empty_codes(features_)};
  parallel_for(features_.feature_count(), threads_, [&](std::size_t f) {
    // A pair counts at the thresholds from its lower code to just below its higher code. Sums run from the
    // highest code down, so the pair is added at its higher code and subtracted at its lower one.
    std::vector<double>& numerator = sums.numerator[f];
    std::vector<double>& denominator = sums.denominator[f];
    for (const Pair& pair : pairs_) {
      const std::uint32_t above = features_.code(pair.above, f);
      const std::uint32_t below = features_.code(pair.below, f);
      if (above == below) continue;
      const double signed_weight = (above > below ? pair.weight : -pair.weight) * pair.distance;
      const std::uint32_t high = std::max(above, below);
      const std::uint32_t low = std::min(above, below);
      numerator[high] += signed_weight;
      numerator[low] -= signed_weight;
      denominator[high] += pair.weight;
      denominator[low] -= pair.weight;
    }
  });
  return {sums_above(std::move(sums.numerator)), sums_above(std::move(sums.denominator))};
}

}  // namespace metafuse::lab::mpboost
