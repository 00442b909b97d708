#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fusion/data/feature_matrix.h"
#include "fusion/data/thresholds.h"

namespace metafuse::fusion::adaboost_mh {

/// The candidate cuts of each feature, ascending; at most 255 each, so that a document is one byte a feature.
struct CutTable {
  std::vector<std::vector<double>> cuts;

  /// Cuts below the value; 0 when unranked is the caller's to say.
  std::uint8_t code(std::size_t feature, double value) const;
  friend bool operator==(const CutTable&, const CutTable&) = default;
};

/// Requires at most 255 thresholds a feature.
CutTable cut_table(const CodedFeatures& features);

/// Documents as one byte a feature, a document after the other: cut j fires iff the byte is above j.
class CodedRows {
 public:
  CodedRows(const FeatureMatrix& documents, const CutTable& table);

  /// Some of the documents of others. Requires documents that it has.
  CodedRows(const CodedRows& others, std::span<const std::uint32_t> documents);

  std::size_t document_count() const { return documents_; }
  const std::uint8_t* row(std::size_t document) const { return codes_.data() + document * features_; }

 private:
  std::size_t documents_ = 0;
  std::size_t features_ = 0;
  std::vector<std::uint8_t> codes_;
};

}  // namespace metafuse::fusion::adaboost_mh
