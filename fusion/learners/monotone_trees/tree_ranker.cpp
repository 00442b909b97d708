#include "fusion/learners/monotone_trees/tree_ranker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/contract.h"
#include "core/number.h"

namespace metafuse::fusion::monotone_trees {
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
  const bool is_rank = features[node.feature].kind == FeatureKind::rank;
  Json& cut = object[is_rank ? "rank" : "threshold"];
  if (std::isinf(node.threshold))
    cut = nullptr;
  else if (is_rank)
    cut = static_cast<std::int64_t>(-node.threshold - 1.0);
  else
    cut = node.threshold;
  object["value"] = node.value;
  object["below"] = node.below;
  object["above"] = node.above;
  return object;
}

std::string question_text(const Feature& feature, double threshold) {
  std::string text = feature.name;
  if (std::isinf(threshold)) return text + " ranked";
  text += feature.kind == FeatureKind::rank ? " rank <= " : " > ";
  append_number(text, feature.kind == FeatureKind::rank ? -threshold - 1.0 : threshold);
  return text;
}

/// By how much a "yes" raises the value, summed over all trees that ask the same.
std::map<std::pair<std::uint32_t, double>, double> raises_of(const std::vector<Tree>& trees) {
  std::map<std::pair<std::uint32_t, double>, double> raises;
  for (const Tree& tree : trees)
    for (const TreeNode& node : tree)
      if (!node.is_leaf())
        raises[{node.feature, node.threshold}] += tree[node.above].value - tree[node.below].value;
  return raises;
}

}  // namespace

TreeRanker::TreeRanker(std::vector<Tree> trees, const std::vector<Feature>& features)
    : trees_(std::move(trees)), features_(features) {}

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
  JsonObject body;
  body["trees"] = std::move(trees);
  return body;
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
    text += features[f].name + ": ";
    append_number(text, by_feature[f]);
    text += "\n";
  }
  text += "the heaviest questions\n";
  for (std::size_t i = 0; i < std::min(kShownQuestions, heaviest.size()); ++i) {
    const auto& [feature, threshold] = heaviest[i].second;
    text += "  " + question_text(features[feature], threshold) + ": ";
    append_number(text, heaviest[i].first);
    text += "\n";
  }
  return text;
}

}  // namespace metafuse::fusion::monotone_trees
