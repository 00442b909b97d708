#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/model/model_file.h"

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

/// Requires the shape of a tree.
/// cost:   O(nodes)
bool is_monotone(const Tree& tree);

/// A sum of monotone trees. A score is explained by the way to each tree's leaf: a feature contributes what
/// the answers to its questions changed.
///
/// body: {"trees":[[NODE...]...]}, a tree's root first and children behind their parents; a NODE is
/// {"value"} or {"feature","threshold"|"rank","value","below","above"}: "feature" counts from 0 in the
/// model's features, rank k asks whether rank <= k, null asks whether the document is ranked, "below" and
/// "above" are the places of the children for no and yes
class TreeRanker final : public Ranker {
 public:
  TreeRanker(std::vector<Tree> trees, const std::vector<Feature>& features);

  const std::vector<Tree>& trees() const { return trees_; }

  std::vector<double> score(const FeatureMatrix& documents) const override;
  std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const override;
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  std::vector<Tree> trees_;
  std::vector<Feature> features_;
};

/// The nodes of a tree as a model's body has them.
JsonArray tree_json(const Tree& tree, std::span<const Feature> features);

/// Adds what the trees say of every document to its score.
/// cost:   O(documents x (features + trees x depth))
void add_to_scores(const FeatureMatrix& documents, std::span<const Tree> trees, std::vector<double>& scores);

/// A Learner's `read`.
/// errors: bad_data naming tree and node: no tree's shape, not monotone, numbers out of range, no
///         such feature
Result<std::shared_ptr<const Ranker>> read_tree_ranker(const JsonObject& body,
                                                       const std::vector<Feature>& features);

}  // namespace metafuse::fusion::monotone_trees
