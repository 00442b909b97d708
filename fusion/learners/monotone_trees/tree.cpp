#include "fusion/learners/monotone_trees/tree.h"

#include <algorithm>

namespace metafuse::fusion::monotone_trees {

double value_of(const Tree& tree, std::span<const double> features) {
  std::uint32_t at = 0;
  while (!tree[at].is_leaf()) at = child_of(tree[at], features);
  return tree[at].value;
}

bool is_monotone(const Tree& tree) {
  std::vector<double> lowest(tree.size());
  std::vector<double> highest(tree.size());
  for (std::size_t i = tree.size(); i > 0; --i) {
    const TreeNode& node = tree[i - 1];
    if (node.is_leaf()) {
      lowest[i - 1] = highest[i - 1] = node.value;
      continue;
    }
    if (highest[node.below] > lowest[node.above]) return false;
    lowest[i - 1] = lowest[node.below];
    highest[i - 1] = highest[node.above];
  }
  return true;
}

}  // namespace metafuse::fusion::monotone_trees
