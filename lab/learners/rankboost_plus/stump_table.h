#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "fusion/data/thresholds.h"
#include "lab/learners/common/fusion_names.h"

namespace metafuse::lab::rankboost_plus {

/// A candidate weak ranking: 1 if the feature's code exceeds `level`, else 0. An unranked document has code
/// 0, so it ranks below every known value (Connamacher et al. 2020, "Empirical evaluation").
struct Stump {
  std::uint32_t feature = 0;
  std::uint32_t level = 0;
  std::uint32_t place = 0;  ///< index of the threshold in its feature, before any were left out
};

/// All candidates, and the documents' codes in two forms: codes by feature, which tell where a candidate
/// fires, and for each code above 0 its documents, for sums over the documents for which a candidate fires.
class StumpTable {
 public:
  /// in: max_thresholds - a feature with more thresholds keeps a random subset of this size
  StumpTable(const CodedFeatures& features, std::size_t max_thresholds, Random random);

  /// Sorted by feature, then by threshold, highest first. Stumps that are equal for all documents are
  /// left out.
  const std::vector<Stump>& stumps() const { return stumps_; }
  std::size_t document_count() const { return documents_; }
  /// Features that lost thresholds because of max_thresholds.
  const std::vector<std::uint32_t>& reduced_features() const { return reduced_; }

  bool fires(std::size_t stump, std::size_t document) const {
    return codes_[stumps_[stump].feature * documents_ + document] > stumps_[stump].level;
  }
  /// Which documents a stump fires for, one byte per document.
  std::vector<std::uint8_t> firing(std::size_t stump) const;

  /// The sum of `values` over the documents for which each stump fires.
  ///
  /// in:     values - one per document
  /// out:    one per stump; the same bit for bit for any number of threads
  /// cost:   O(documents * features + stumps)
  /// source: Freund et al. 2003, eq. (12), fig. 3
  std::vector<double> sums_where_fires(const std::vector<double>& values, unsigned threads = 1) const;

 private:
  void fill_holders();

  std::size_t documents_ = 0;
  std::size_t features_ = 0;
  std::vector<std::uint16_t> codes_;    // feature by feature
  std::vector<std::uint32_t> holders_;  // documents by bucket, ascending within each; none with code 0
  std::vector<std::size_t> first_;      // where each bucket's documents begin, and the end
  std::vector<std::size_t> bucket_;     // where each feature's buckets begin, and the end
  std::vector<Stump> stumps_;
  std::vector<std::uint32_t> reduced_;
};

}  // namespace metafuse::lab::rankboost_plus
