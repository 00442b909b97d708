#include <cmath>
#include <limits>

#include "fusion/learners/monotone_trees/tree_ranker.h"
#include "fusion/learners/online/state_fields.h"

namespace metafuse::fusion::monotone_trees {
namespace {

constexpr std::uint64_t kLargestRank = 1000000000;

Error refused(std::size_t tree, std::size_t node, const std::string& what) {
  return fail(Code::bad_data, "body: trees[" + std::to_string(tree) + "][" + std::to_string(node) +
                                  "]: " + what + "; train the model again");
}

/// The threshold of a question about a feature; the fields note what is wrong.
double read_threshold(const JsonObject& object, const Feature& feature, StateFields& fields) {
  const bool is_rank = feature.kind == FeatureKind::rank;
  const Json* cut = object.if_contains(is_rank ? "rank" : "threshold");
  if (cut != nullptr && cut->is_null()) return -std::numeric_limits<double>::infinity();
  if (!is_rank) return fields.number("threshold");
  return -(static_cast<double>(fields.count("rank", kLargestRank)) + 1.0);
}

Result<TreeNode> read_node(const JsonObject& object, const std::vector<Feature>& features,
                           const std::string& prefix) {
  StateFields fields(object, prefix);
  TreeNode node;
  node.value = fields.number("value");
  if (object.contains("feature")) {
    if (features.empty()) return fail(Code::bad_data, prefix + "feature: the model has no features");
    node.feature = static_cast<std::uint32_t>(fields.count("feature", features.size() - 1));
    if (fields.failed()) return fields.error();
    node.threshold = read_threshold(object, features[node.feature], fields);
    node.below = static_cast<std::uint32_t>(fields.count("below", TreeNode::kLeaf - 1));
    node.above = static_cast<std::uint32_t>(fields.count("above", TreeNode::kLeaf - 1));
  }
  if (fields.failed()) return fields.error();
  return node;
}

/// Whether every node but the root is the child of one node that stands before it.
bool has_shape(const Tree& tree) {
  std::vector<int> parents(tree.size(), 0);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (tree[i].is_leaf()) continue;
    for (const std::uint32_t child : {tree[i].below, tree[i].above}) {
      if (child <= i || child >= tree.size()) return false;
      ++parents[child];
    }
  }
  for (std::size_t i = 1; i < tree.size(); ++i)
    if (parents[i] != 1) return false;
  return !tree.empty();
}

Result<Tree> read_tree(const Json& item, const std::vector<Feature>& features, std::size_t place) {
  if (!item.is_array()) return refused(place, 0, "a tree is a list of nodes");
  Tree tree;
  for (const Json& node : item.get_array()) {
    if (!node.is_object()) return refused(place, tree.size(), "a node is an object");
    TRY(auto read,
        read_node(node.get_object(), features,
                  "body.trees[" + std::to_string(place) + "][" + std::to_string(tree.size()) + "]."));
    tree.push_back(read);
  }
  if (!has_shape(tree)) return refused(place, 0, "the nodes are no tree");
  if (!is_monotone(tree)) return refused(place, 0, "the tree is not monotone");
  return tree;
}

}  // namespace

Result<std::shared_ptr<const Ranker>> read_tree_ranker(const JsonObject& body,
                                                       const std::vector<Feature>& features) {
  StateFields fields(body);
  const JsonArray* items = fields.array("trees");
  if (fields.failed()) return fields.error();
  std::vector<Tree> trees;
  for (const Json& item : *items) {
    TRY(auto tree, read_tree(item, features, trees.size()));
    trees.push_back(std::move(tree));
  }
  return std::shared_ptr<const Ranker>(std::make_shared<TreeRanker>(std::move(trees), features));
}

}  // namespace metafuse::fusion::monotone_trees
