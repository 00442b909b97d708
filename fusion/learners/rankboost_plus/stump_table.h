#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "fusion/data/thresholds.h"

namespace metafuse::fusion::rankboost_plus {

/// A candidate weak ranking: 1 where the feature's code exceeds `level`, else 0; an unranked document has
/// code 0 and so stands lower than every known value (Connamacher et al. 2020, "Empirical evaluation").
struct Stump {
  std::uint32_t feature = 0;
  std::uint32_t level = 0;
  std::uint32_t place = 0;  ///< of the threshold among the feature's own, before any were left out
};

/// All candidates and the documents' codes: feature by feature, to tell where one candidate fires, and the
/// documents of each code above 0, for the sums over the documents that each candidate fires for.
class StumpTable {
 public:
  /// in:     max_thresholds - a feature with more keeps a random subset of that size
  StumpTable(const CodedFeatures& features, std::size_t max_thresholds, Random random);

  /// Features ascending, thresholds from the highest down. A stump that is the same for every document
  /// is none.
  const std::vector<Stump>& stumps() const { return stumps_; }
  std::size_t document_count() const { return documents_; }
  /// Features that lost thresholds to max_thresholds.
  const std::vector<std::uint32_t>& reduced_features() const { return reduced_; }

  bool fires(std::size_t stump, std::size_t document) const {
    return codes_[stumps_[stump].feature * documents_ + document] > stumps_[stump].level;
  }
  /// Which documents a stump fires for, a byte each.
  std::vector<std::uint8_t> firing(std::size_t stump) const;

  /// The sum of `values` over the documents that each stump fires for.
  ///
  /// in:     values - one per document
  /// out:    one per stump; the same bits for any number of threads
  /// cost:   O(documents * features + stumps)
  /// source: Freund et al. 2003, eq. (12), fig. 3
  std::vector<double> sums_where_fires(const std::vector<double>& values, unsigned threads = 1) const;

 private:
  void fill_holders();

  std::size_t documents_ = 0;
  std::size_t features_ = 0;
  std::vector<std::uint16_t> codes_;    // feature-major
  std::vector<std::uint32_t> holders_;  // documents bucket by bucket, ascending in each; none of code 0
  std::vector<std::size_t> first_;      // of each bucket: where its documents start; one more than buckets
  std::vector<std::size_t> bucket_;     // where a feature's buckets start; one more than features
  std::vector<Stump> stumps_;
  std::vector<std::uint32_t> reduced_;
};

}  // namespace metafuse::fusion::rankboost_plus
