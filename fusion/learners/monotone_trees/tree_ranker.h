#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/learners/monotone_trees/tree.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion::monotone_trees {

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

/// Adds what the trees say of every document to its score. cost: O(documents x (features + trees x depth))
void add_to_scores(const FeatureMatrix& documents, std::span<const Tree> trees, std::vector<double>& scores);

/// A Learner's `read`. errors: bad_data naming tree and node: no tree's shape, not monotone, numbers out of
/// range, no such feature
Result<std::shared_ptr<const Ranker>> read_tree_ranker(const JsonObject& body,
                                                       const std::vector<Feature>& features);

}  // namespace metafuse::fusion::monotone_trees
