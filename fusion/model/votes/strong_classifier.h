#pragma once

// What AdaBoost.MH learns: cuts, base classifiers, and their weighted sum, with the JSON of model files.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/data/thresholds.h"

namespace metafuse::fusion::votes {

/// The candidate cuts of each feature, ascending. At most 255 per feature, so that a document needs one byte
/// per feature.
struct CutTable {
  std::vector<std::vector<double>> cuts;

  /// The number of cuts below the value. Unranked documents have code 0, which the caller must handle.
  std::uint8_t code(std::size_t feature, double value) const;
  friend bool operator==(const CutTable&, const CutTable&) = default;
};

/// Requires at most 255 thresholds per feature.
CutTable cut_table(const CodedFeatures& features);

/// Documents with one byte per feature, stored document by document. Cut j fires iff the byte is above j.
class CodedRows {
 public:
  CodedRows(const FeatureMatrix& documents, const CutTable& table);

  /// Copies some documents of others. Requires documents that `others` has.
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

/// An inner node of a tree. A child is the index of a node, or ~leaf.
struct TreeNode {
  Cut cut;
  std::int32_t below = 0;
  std::int32_t above = 0;
  friend bool operator==(const TreeNode&, const TreeNode&) = default;
};

/// h(x) in {-1, +1}^K. For a product, the votes times the product of its terms' phi (a stump is a product of
/// one term). For a tree, the votes of the leaf that x falls into. Without terms and nodes, just the votes.
/// source: Kegl, Busa-Fekete, Boosting products of base classifiers, 2009
struct BaseClassifier {
  std::vector<Cut> terms;
  std::vector<TreeNode> nodes;
  std::vector<std::int8_t> votes;  ///< K numbers, or leaves x K

  std::size_t leaf(const std::uint8_t* row) const;
  double sign(const std::uint8_t* row) const;  ///< of the terms; 1 for a tree
  friend bool operator==(const BaseClassifier&, const BaseClassifier&) = default;
};

/// f(x) = sum of alpha_t h_t(x). The votes of the first T rounds are available without retraining.
struct StrongClassifier {
  struct Round {
    double alpha = 0.0;
    BaseClassifier base;
    friend bool operator==(const Round&, const Round&) = default;
  };

  std::size_t classes = 2;
  std::vector<Round> rounds;

  /// The votes after each of the given numbers of rounds, divided by the sum of the alphas, so that they lie
  /// in [-1, 1].
  ///
  /// in:     counts - ascending; a count beyond the last round means all rounds
  /// out:    documents x K for each count; zeros if there are no rounds
  /// cost:   O(documents x rounds x size of a base classifier)
  std::vector<std::vector<double>> votes(const CodedRows& rows, std::span<const std::size_t> counts) const;

  friend bool operator==(const StrongClassifier&, const StrongClassifier&) = default;
};

/// The beginning of the body of all models in this folder: the grades, ascending, and the cuts.
struct GradedCuts {
  std::vector<double> grades;
  CutTable table;

  friend bool operator==(const GradedCuts&, const GradedCuts&) = default;
};

/// {"grades":[...],"cuts":[[...]...]}: the cuts of each feature, ascending; null for minus infinity.
JsonObject to_json(const GradedCuts& graded);
/// errors: bad_data, naming the field
Result<GradedCuts> read_graded_cuts(const JsonObject& body, std::size_t features);

/// [{"alpha","votes":[...],"terms":[[feature, cut]...]} or {..., "nodes":[[feature, cut, below,
/// above]...]}...]. A child is the index of a node in the list, or -1 - leaf. Each leaf has K of the "votes".
JsonArray to_json(const StrongClassifier& classifier);
/// errors: bad_data: a feature, cut, node or leaf that does not exist, a cycle, votes other than -1 and 1
Result<StrongClassifier> read_classifier(const JsonArray& array, const GradedCuts& graded);

}  // namespace metafuse::fusion::votes
