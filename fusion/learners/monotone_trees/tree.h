#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace metafuse::fusion::monotone_trees {

/// A question "is the feature above the threshold?", or a leaf. An unranked document is above no threshold,
/// not even minus infinity, which asks only whether the document is ranked.
struct TreeNode {
  static constexpr std::uint32_t kLeaf = 0xffffffff;

  std::uint32_t feature = kLeaf;
  double threshold = 0.0;
  std::uint32_t below = 0;  ///< the place of the child for "no"; children stand behind their parent
  std::uint32_t above = 0;  ///< the place of the child for "yes"
  double value = 0.0;  ///< of a leaf: what it adds to a score; else what it would add if nothing were asked

  bool is_leaf() const { return feature == kLeaf; }

  friend bool operator==(const TreeNode&, const TreeNode&) = default;
};

/// A tree is monotone when, at each question, every leaf on the side of "yes" is worth at least as much as
/// every leaf on the side of "no": then no document loses by a better rank in any list.
using Tree = std::vector<TreeNode>;

/// The place of the leaf of one document, of whose features the unranked ones are NaN.
inline std::uint32_t child_of(const TreeNode& node, std::span<const double> features) {
  return features[node.feature] > node.threshold ? node.above : node.below;
}

double value_of(const Tree& tree, std::span<const double> features);

/// Requires the shape of a tree. cost: O(nodes)
bool is_monotone(const Tree& tree);

}  // namespace metafuse::fusion::monotone_trees
