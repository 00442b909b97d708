#include "fusion/learners/monotone_trees/tree_ranker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/contract.h"
#include "core/number.h"
#include "fusion/model/state_fields.h"
#include "fusion/model/weak_ranking.h"

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

namespace {

constexpr std::size_t kShownQuestions = 20;

void copy_row(const FeatureMatrix& documents, std::size_t document, std::vector<double>& row) {
  for (std::size_t f = 0; f < row.size(); ++f)
    row[f] = documents.is_unranked(document, f) ? std::numeric_limits<double>::quiet_NaN()
                                                : documents.value(document, f);
}

JsonObject node_json(const TreeNode& node, std::span<const Feature> features) {
  if (node.is_leaf()) return {{"value", node.value}};
  JsonObject object{{"feature", node.feature}};
  put_threshold(object, features[node.feature].kind, node.threshold);
  object["value"] = node.value;
  object["below"] = node.below;
  object["above"] = node.above;
  return object;
}

/// For each question, the difference between the values of "yes" and "no", summed over all trees that ask it.
std::map<std::pair<std::uint32_t, double>, double> raises_of(const std::vector<Tree>& trees) {
  std::map<std::pair<std::uint32_t, double>, double> raises;
  for (const Tree& tree : trees)
    for (const TreeNode& node : tree)
      if (!node.is_leaf())
        raises[{node.feature, node.threshold}] += tree[node.above].value - tree[node.below].value;
  return raises;
}

}  // namespace

JsonArray tree_json(const Tree& tree, std::span<const Feature> features) {
  JsonArray nodes;
  for (const TreeNode& node : tree) nodes.push_back(node_json(node, features));
  return nodes;
}

void add_to_scores(const FeatureMatrix& documents, std::span<const Tree> trees, std::vector<double>& scores) {
  std::vector<double> row(documents.feature_count());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    copy_row(documents, i, row);
    for (const Tree& tree : trees) scores[i] += value_of(tree, row);
  }
}

std::vector<double> TreeRanker::score(const FeatureMatrix& documents) const {
  require(documents.feature_count() == features_.size(), "the model's features");
  std::vector<double> scores(documents.document_count(), 0.0);
  add_to_scores(documents, trees_, scores);
  return scores;
}

std::vector<double> TreeRanker::contributions(const FeatureMatrix& documents, std::size_t document) const {
  std::vector<double> row(features_.size());
  copy_row(documents, document, row);
  std::vector<double> parts(features_.size(), 0.0);
  for (const Tree& tree : trees_)
    for (std::uint32_t at = 0; !tree[at].is_leaf();) {
      const std::uint32_t next = child_of(tree[at], row);
      parts[tree[at].feature] += tree[next].value - tree[at].value;
      at = next;
    }
  return parts;
}

JsonObject TreeRanker::body() const {
  JsonArray trees;
  for (const Tree& tree : trees_) trees.push_back(tree_json(tree, features_));
  return {{"trees", std::move(trees)}};
}

std::string TreeRanker::describe(const std::vector<Feature>& features) const {
  const auto raises = raises_of(trees_);
  std::vector<std::pair<double, std::pair<std::uint32_t, double>>> heaviest;
  std::vector<double> by_feature(features.size(), 0.0);
  for (const auto& [question, raise] : raises) {
    heaviest.emplace_back(raise, question);
    by_feature[question.first] += raise;
  }
  std::stable_sort(heaviest.begin(), heaviest.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = "monotone trees: " + std::to_string(trees_.size()) +
                     ", different questions: " + std::to_string(raises.size()) +
                     "\nby how much a yes raises the score, all trees together\n";
  for (std::size_t f = 0; f < features.size(); ++f) {
    if (by_feature[f] == 0.0) continue;
    text += features[f].name + ": " + number_text(by_feature[f]) + "\n";
  }
  text += "the heaviest questions\n";
  for (std::size_t i = 0; i < std::min(kShownQuestions, heaviest.size()); ++i) {
    const auto& [feature, threshold] = heaviest[i].second;
    text += "  " + features[feature].name + ' ' + threshold_text(features[feature].kind, threshold) + ": " +
            number_text(heaviest[i].first) + "\n";
  }
  return text;
}

namespace {

constexpr std::uint64_t kLargestRank = 1000000000;

Error refused(std::size_t tree, std::size_t node, const std::string& what) {
  return fail(Code::bad_data, "body: trees[" + std::to_string(tree) + "][" + std::to_string(node) +
                                  "]: " + what + "; train the model again");
}

/// Reads the threshold of a question about a feature; errors are recorded in `fields`.
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
  node.value = fields.weight("value");
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

/// Whether every node except the root is the child of exactly one earlier node.
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
  if (!item.is_array()) return refused(place, 0, "a tree must be a list of nodes");
  Tree tree;
  for (const Json& node : item.get_array()) {
    if (!node.is_object()) return refused(place, tree.size(), "a node must be an object");
    TRY(auto read,
        read_node(node.get_object(), features,
                  "body.trees[" + std::to_string(place) + "][" + std::to_string(tree.size()) + "]."));
    tree.push_back(read);
  }
  if (!has_shape(tree)) return refused(place, 0, "the nodes do not form a tree");
  if (!is_monotone(tree)) return refused(place, 0, "the tree is not monotone");
  return tree;
}

}  // namespace

Result<SharedRanker> read_tree_ranker(const JsonObject& body, const std::vector<Feature>& features) {
  StateFields fields(body);
  const JsonArray* items = fields.array("trees");
  if (fields.failed()) return fields.error();
  std::vector<Tree> trees;
  for (const Json& item : *items) {
    TRY(auto tree, read_tree(item, features, trees.size()));
    trees.push_back(std::move(tree));
  }
  return std::make_shared<TreeRanker>(std::move(trees), features);
}

}  // namespace metafuse::fusion::monotone_trees
