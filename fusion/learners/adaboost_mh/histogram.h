#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "fusion/data/thresholds.h"
#include "fusion/learners/adaboost_mh/strong_classifier.h"

namespace metafuse::fusion::adaboost_mh {

/// w z for documents x labels; the K numbers of each document are padded to a multiple of four.
struct SignedWeights {
  std::size_t classes = 0;
  std::size_t stride = 0;
  std::vector<double> values;

  std::size_t document_count() const { return values.size() / stride; }
  const double* of(std::size_t document) const { return values.data() + document * stride; }
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
  Histogram(const CodedFeatures& features, std::size_t stride);

  /// Sums the weights of `documents` and returns their best cut. `totals` (stride long) is the sum over all
  /// of them.
  BestCut fill(const SignedWeights& weights, std::span<const std::uint32_t> documents,
               std::span<const double> totals, unsigned threads = 1);
  /// As fill(). Also subtracts the sums from `whole`, which must contain these documents.
  /// out: the best cuts of `documents` and of the documents that remain in `whole`
  std::pair<BestCut, BestCut> split_off(Histogram& whole, const SignedWeights& weights,
                                        std::span<const std::uint32_t> documents,
                                        std::span<const double> totals, std::span<const double> rest_totals,
                                        unsigned threads = 1);
  /// Replaces the signs `from` (1 or -1) in the sums by the signs `to`. Adds up either the documents whose
  /// sign changes or the others, whichever are fewer.
  BestCut change_signs(const SignedWeights& weights, std::span<const std::uint32_t> documents,
                       std::span<const std::int8_t> from, std::span<const std::int8_t> to,
                       std::span<const double> totals, unsigned threads = 1);

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
  void for_each_group(std::size_t documents, unsigned threads,
                      const std::function<void(std::size_t, std::size_t)>& work) const;
  void clear(std::size_t first, std::size_t last);
  void add(std::size_t first, std::size_t last, const Addends& addends);

  const CodedFeatures* features_;
  std::size_t stride_;
  std::vector<std::size_t> starts_;  // where each feature's cells begin, and their number
  std::vector<Four> sums_;
};

}  // namespace metafuse::fusion::adaboost_mh
