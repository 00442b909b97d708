#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "fusion/data/thresholds.h"
#include "fusion/model/votes/strong_classifier.h"
#include "lab/learners/common/fusion_names.h"

namespace metafuse::lab::adaboost_mh {

/// w z for documents x labels; the K numbers of each document are padded to a multiple of four.
struct SignedWeights {
  std::size_t classes = 0;
  std::size_t stride = 0;
  std::vector<double> values;

  std::size_t document_count() const { return values.size() / stride; }
  const double* of(std::size_t document) const { return values.data() + document * stride; }
};

/// Some documents with their weights.
struct WeightedDocuments {
  const SignedWeights& weights;
  std::span<const std::uint32_t> documents;
  std::span<const double> totals;  ///< stride long: the sum over these documents
};

/// The cut with the greatest worth. Among cuts within 1e-9 of it, the first in the order of features,
/// thresholds from the highest.
struct BestCut {
  bool is_found = false;
  Cut cut;
  double worth = 0.0;  ///< the edge of its stump, whose votes on the two sides are opposite
};

/// For each (feature, code), the sum of the signed weights of the documents with that code. Several features
/// are summed and searched together while their sums are in the first-level cache. A thread works on whole
/// features, so the result is the same bit for bit for any number of threads.
class Histogram {
 public:
  Histogram(const CodedFeatures& features, std::size_t stride, unsigned threads);

  /// Sums the weights of the documents and returns their best cut.
  BestCut fill(const WeightedDocuments& part);
  /// As fill(). Also subtracts the sums from `whole`, which must contain these documents.
  /// in:  rest_totals - the totals of the documents that remain in `whole`
  /// out: the best cuts of the documents and of those that remain in `whole`
  std::pair<BestCut, BestCut> split_off(Histogram& whole, const WeightedDocuments& part,
                                        std::span<const double> rest_totals);
  /// Replaces the signs `from` (1 or -1) in the sums by the signs `to`, which the totals have. Adds up either
  /// the documents whose sign changes or the others, whichever are fewer.
  BestCut change_signs(const WeightedDocuments& part, std::span<const std::int8_t> from,
                       std::span<const std::int8_t> to);

  std::size_t feature_count() const { return features_->feature_count(); }
  std::size_t codes(std::size_t feature) const { return features_->thresholds(feature).size() + 1; }
  const double* cell(std::size_t feature, std::size_t code) const {
    return sums_[(starts_[feature] + code) * (stride_ / 4)].numbers;
  }
  std::size_t stride() const { return stride_; }

 private:
  struct alignas(32) Four {
    double numbers[4];
  };
  struct Addends;
  class Search;

  double* cells(std::size_t feature) { return sums_[starts_[feature] * (stride_ / 4)].numbers; }
  /// Calls work(first, last) for every group of features, in several threads if that is worth it.
  void for_each_group(std::size_t documents, const std::function<void(std::size_t, std::size_t)>& work) const;
  std::size_t cell_count(std::size_t first, std::size_t last) const {
    return (starts_[last] - starts_[first]) * stride_;
  }
  void add(std::size_t first, std::size_t last, const Addends& addends);

  const CodedFeatures* features_;
  std::size_t stride_;
  unsigned threads_;
  std::vector<std::size_t> starts_;  // where each feature's cells begin, and their number
  std::vector<Four> sums_;
};

}  // namespace metafuse::lab::adaboost_mh
