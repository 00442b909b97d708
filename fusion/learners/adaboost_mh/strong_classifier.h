#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/data/thresholds.h"

namespace metafuse::fusion::adaboost_mh {

/// The candidate cuts of each feature, ascending; at most 255 each, so that a document is one byte
/// per feature.
struct CutTable {
  std::vector<std::vector<double>> cuts;

  /// Cuts below the value; 0 when unranked is the caller's to say.
  std::uint8_t code(std::size_t feature, double value) const;
  friend bool operator==(const CutTable&, const CutTable&) = default;
};

/// Requires at most 255 thresholds per feature.
CutTable cut_table(const CodedFeatures& features);

/// Documents as one byte per feature, a document after the other: cut j fires iff the byte is above j.
class CodedRows {
 public:
  CodedRows(const FeatureMatrix& documents, const CutTable& table);

  /// Some of the documents of others. Requires documents that it has.
  CodedRows(const CodedRows& others, std::span<const std::uint32_t> documents);

  std::size_t document_count() const { return documents_; }
  const std::uint8_t* row(std::size_t document) const { return codes_.data() + document * features_; }

 private:
  std::size_t documents_ = 0;
  std::size_t features_ = 0;
  std::vector<std::uint8_t> codes_;
};

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

/// {"cuts":[[...]...]}: a feature's cuts ascending, null for minus infinity.
JsonArray to_json(const CutTable& table);
/// errors: bad_data
Result<CutTable> read_cut_table(const JsonArray& array, std::size_t features);

/// What the body of every model of this folder begins with: its grades, ascending, and its cuts.
struct GradedCuts {
  std::vector<double> grades;
  CutTable table;
};
/// errors: bad_data, naming the field
Result<GradedCuts> read_graded_cuts(const JsonObject& body, std::size_t features);

/// [{"alpha","votes":[...],"terms":[[feature, cut]...]} or {..., "nodes":[[feature, cut, below,
/// above]...]}...]; a child is a node's place in the list, or -1 - leaf; a leaf's votes are K of "votes".
JsonArray to_json(const StrongClassifier& classifier);
/// errors: bad_data: a feature, cut, node or leaf that does not exist, a cycle, votes other than -1 and 1
Result<StrongClassifier> read_classifier(const JsonArray& array, std::size_t classes, const CutTable& table);

}  // namespace metafuse::fusion::adaboost_mh
