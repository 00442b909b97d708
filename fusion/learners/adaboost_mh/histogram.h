#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fusion/data/thresholds.h"
#include "fusion/learners/adaboost_mh/strong_classifier.h"

namespace metafuse::fusion::adaboost_mh {

/// w z of documents x labels, each document's K numbers padded to a multiple of four.
struct SignedWeights {
  std::size_t classes = 0;
  std::size_t stride = 0;
  std::vector<double> values;

  std::size_t document_count() const { return values.size() / stride; }
  const double* of(std::size_t document) const { return values.data() + document * stride; }
};

/// For each (feature, code) the sum of the signed weights of documents that have the code.
class Histogram {
 public:
  Histogram(const CodedFeatures& features, std::size_t stride);

  /// Sums over `documents`, each times its sign when `signs` is not empty. A thread sums whole features, so
  /// any number of threads gives the same bytes.
  void fill(const SignedWeights& weights, std::span<const std::uint32_t> documents,
            std::span<const double> signs, unsigned threads = 1);
  /// Leaves what is not in `part`.
  void subtract(const Histogram& part);

  std::size_t feature_count() const { return features_->feature_count(); }
  std::size_t codes(std::size_t feature) const { return features_->thresholds(feature).size() + 1; }
  const double* cell(std::size_t feature, std::size_t code) const {
    return sums_.data() + (starts_[feature] + code) * stride_;
  }
  std::size_t stride() const { return stride_; }

 private:
  void fill_feature(std::size_t feature, const SignedWeights& weights,
                    std::span<const std::uint32_t> documents, std::span<const double> signs);

  const CodedFeatures* features_;
  std::size_t stride_;
  std::vector<std::size_t> starts_;
  std::vector<double> sums_;
};

struct BestCut {
  bool is_found = false;
  Cut cut;
  double worth = 0.0;  ///< the edge of its stump: opposite votes on its two sides
};

/// The cut of greatest worth; of those within 1e-9 of it the first in the order features ascending,
/// thresholds from the highest down. The sums over all documents are `totals` (stride long).
BestCut best_cut(const Histogram& histogram, std::span<const double> totals);

}  // namespace metafuse::fusion::adaboost_mh
