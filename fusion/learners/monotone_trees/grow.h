#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fusion/data/thresholds.h"
#include "fusion/learners/monotone_trees/pair_sampler.h"
#include "fusion/learners/monotone_trees/tree.h"

namespace metafuse::fusion::monotone_trees {

/// The documents that trees are grown on, one byte a feature.
class GrowData {
 public:
  /// in: features - of at most 255 thresholds each, must outlive this; rows - of the matrix
  GrowData(const CodedFeatures& features, std::span<const FeatureKind> kinds,
           std::span<const std::size_t> rows);

  std::size_t document_count() const { return documents_; }
  std::size_t feature_count() const { return codes_.size(); }
  /// A document: from which code on a threshold fires is told by CodedFeatures::code().
  const std::vector<std::uint8_t>& codes(std::uint32_t feature) const { return codes_[feature]; }
  /// The highest code of a feature.
  std::size_t most(std::uint32_t feature) const { return features_.thresholds(feature).size(); }
  /// What "from this code on" asks of a value. Requires code > 0.
  double threshold(std::uint32_t feature, std::size_t code) const;

 private:
  const CodedFeatures& features_;
  std::vector<FeatureKind> kinds_;
  std::size_t documents_ = 0;
  std::vector<std::vector<std::uint8_t>> codes_;
};

struct GrowInput {
  const GrowData& data;
  std::span<const Push> pushes;            ///< a document
  std::span<const std::uint32_t> askable;  ///< features that this tree may ask about, ascending
  std::size_t depth = 3;                   ///< questions on the way to a leaf, at most
};

/// A tree that lowers the loss most, question by question, within what keeps it monotone: a node's children
/// may be worth no more and no less than the middle of the two allows on their sides, for all below them.
///
/// out:    steps - a document: the value of its leaf
/// cost:   O(depth x documents x askable features)
/// source: Chen, Guestrin, XGBoost, 2016, eqs. (5) and (7), with bounds for monotone constraints
Tree grow_tree(const GrowInput& input, std::span<double> steps);

}  // namespace metafuse::fusion::monotone_trees
