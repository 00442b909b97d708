#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fusion/learners/adaboost_mh/coded_rows.h"

namespace metafuse::fusion::adaboost_mh {

/// phi(x) = +1 if the feature's value lies above cut `index` of its table, else -1 (also when unranked).
struct Cut {
  std::uint32_t feature = 0;
  std::uint8_t index = 0;

  bool fires(const std::uint8_t* row) const { return row[feature] > index; }
  friend bool operator==(const Cut&, const Cut&) = default;
};

/// An inner node of a tree; a child is a node's place, or ~leaf.
struct TreeNode {
  Cut cut;
  std::int32_t below = 0;
  std::int32_t above = 0;
  friend bool operator==(const TreeNode&, const TreeNode&) = default;
};

/// h(x) in {-1, +1}^K. A product (a stump is one of a single term) is votes times the product of its terms'
/// phi; a tree is the votes of the leaf that x falls into. Without terms and nodes: the votes themselves.
/// source: Kegl, Busa-Fekete, Boosting products of base classifiers, 2009
struct BaseClassifier {
  std::vector<Cut> terms;
  std::vector<TreeNode> nodes;
  std::vector<std::int8_t> votes;  ///< K, or leaves x K

  std::size_t leaf(const std::uint8_t* row) const;
  double sign(const std::uint8_t* row) const;  ///< of the terms; 1 for a tree
  friend bool operator==(const BaseClassifier&, const BaseClassifier&) = default;
};

/// f(x) = sum of alpha_t h_t(x): the votes of any first T rounds come without retraining.
struct StrongClassifier {
  struct Round {
    double alpha = 0.0;
    BaseClassifier base;
    friend bool operator==(const Round&, const Round&) = default;
  };

  std::size_t classes = 2;
  std::vector<Round> rounds;

  /// Votes after each of the given numbers of rounds, divided by the sum of alphas, so in [-1, 1].
  ///
  /// in:     counts - ascending; one beyond the last round means all
  /// out:    for each count documents x K; zeros when there are no rounds
  /// cost:   O(documents x rounds x size of a base classifier)
  std::vector<std::vector<double>> votes(const CodedRows& rows, std::span<const std::size_t> counts) const;

  friend bool operator==(const StrongClassifier&, const StrongClassifier&) = default;
};

}  // namespace metafuse::fusion::adaboost_mh
