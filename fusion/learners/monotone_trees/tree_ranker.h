#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion::monotone_trees {

/// A question "is the feature above the threshold?", or a leaf. An unranked document is above no threshold,
/// not even above minus infinity, which therefore asks whether the document is ranked.
struct TreeNode {
  static constexpr std::uint32_t kLeaf = 0xffffffff;

  std::uint32_t feature = kLeaf;
  double threshold = 0.0;
  std::uint32_t below = 0;  ///< index of the child for "no"; children come after their parent
  std::uint32_t above = 0;  ///< index of the child for "yes"
  /// What a leaf adds to a score; for a question, what the node would add as a leaf.
  double value = 0.0;

  bool is_leaf() const { return feature == kLeaf; }
};

/// A tree is monotone if, at each question, every leaf on the "yes" side is worth at least as much as every
/// leaf on the "no" side. Then no document loses by a better rank in any list.
using Tree = std::vector<TreeNode>;

/// The child of a question that a document goes to. Unranked features are NaN.
inline std::uint32_t child_of(const TreeNode& node, std::span<const double> features) {
  return features[node.feature] > node.threshold ? node.above : node.below;
}

double value_of(const Tree& tree, std::span<const double> features);

/// Requires a valid tree.
/// cost: O(nodes)
bool is_monotone(const Tree& tree);

/// A sum of monotone trees. A score is explained by the path to the leaf of each tree: a feature contributes
/// what the answers to its questions changed.
///
/// Body: {"trees":[[NODE...]...]}; a tree's root comes first, and children come after their parents. A NODE
/// is {"value"} or {"feature","threshold"|"rank","value","below","above"}. "feature" is an index into the
/// model's features, from 0; rank k asks whether rank <= k; null asks whether the document is ranked; "below"
/// and "above" are the indices of the children for no and yes.
class TreeRanker final : public Ranker {
 public:
  TreeRanker(std::vector<Tree> trees, const std::vector<Feature>& features)
      : trees_(std::move(trees)), features_(features) {}

  const std::vector<Tree>& trees() const { return trees_; }

  std::vector<double> score(const FeatureMatrix& documents) const override;
  std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const override;
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  std::vector<Tree> trees_;
  std::vector<Feature> features_;
};

/// The nodes of a tree, as in a model's body.
JsonArray tree_json(const Tree& tree, std::span<const Feature> features);

/// Adds the values of the trees to the score of every document.
/// cost:   O(documents x (features + trees x depth))
void add_to_scores(const FeatureMatrix& documents, std::span<const Tree> trees, std::vector<double>& scores);

/// The `read` function of the learner.
/// errors: bad_data naming tree and node: nodes that form no tree, a tree that is not monotone, numbers out
///         of range, an unknown feature
Result<SharedRanker> read_tree_ranker(const JsonObject& body, const std::vector<Feature>& features);

}  // namespace metafuse::fusion::monotone_trees
