#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/random.h"
#include "fusion/data/thresholds.h"
#include "fusion/learners/common/learner.h"
#include "fusion/learners/monotone_trees/tree_ranker.h"
#include "fusion/learners/rankboost/feedback.h"

namespace metafuse::fusion::monotone_trees {

/// What a round learns from, per document: how strongly, and in which direction, the drawn pairs push the
/// document, and how fast that push fades as its score moves.
struct Push {
  double potential = 0.0;  ///< minus the derivative of the loss
  double curvature = 0.0;  ///< an upper bound of the loss's second derivative
};

inline constexpr double kPushScale = 0x1p58;

/// A push in units of 1 / kPushScale. Sums of whole numbers are exact in any order, and stay exact when a
/// part is subtracted.
struct WholePush {
  std::int64_t potential = 0;
  std::int64_t curvature = 0;

  WholePush& operator+=(const WholePush& other) {
    potential += other.potential;
    curvature += other.curvature;
    return *this;
  }
  WholePush& operator-=(const WholePush& other) {
    potential -= other.potential;
    curvature -= other.curvature;
    return *this;
  }
};

/// Rounds each push to whole units.
/// out: their sum
WholePush round_pushes(std::span<const Push> pushes, std::span<WholePush> whole);

/// The pushes of all documents.
struct Pushes {
  std::vector<WholePush> of_document;
  WholePush total;
};

/// A pair of documents by their places among the pushes: the loss wants `high` above `low`.
struct DrawnPair {
  std::uint32_t high = 0;
  std::uint32_t low = 0;
  double weight = 0.0;
};

/// Adds the pushes of pairs, in their order.
/// in: powers - per pair: e^(score of high - score of low)
void push_pairs(std::span<const DrawnPair> pairs, std::span<const double> powers, std::span<Push> pushes);

/// A column of codes, one per document of the whole data, and a sum of pushes per code.
struct PushColumn {
  const std::uint8_t* codes = nullptr;
  std::span<WholePush> sums;
};

/// Adds the documents' pushes to the columns' sums by code, several columns at a time. A document's push is
/// then read once for all these columns, and an addition need not wait for the previous one to the same sum.
///
/// in: documents - different ones
void sum_pushes(std::span<const PushColumn> columns, std::span<const std::uint32_t> documents,
                std::span<const WholePush> pushes);

/// Draws pairs for the logistic loss log(1 + e^(H(x0) - H(x1))). Each document that has a crucial pair draws
/// one partner among the documents of its query with other grades. So a round costs O(documents), and each
/// round learns from different pairs.
///
/// source: the loss of Burges et al., Learning to rank using gradient descent, 2005; one partner per
///         document, as drawn by xgboost's rank:pairwise
class PairSampler {
 public:
  /// in: queries - indices into feedback.queries to draw from. Requires that there are no general pairs, and
  ///     that the feedback outlives this object.
  PairSampler(const rankboost::Feedback& feedback, std::span<const std::size_t> queries);

  /// The rows of the documents that can be drawn, query by query.
  const std::vector<std::size_t>& rows() const { return rows_; }

  /// in:  scores - one per entry of rows()
  /// out: pushes - of the documents in rows(); the potentials of a query sum to 0 but for rounding
  void draw(Random& random, std::span<const double> scores, Pushes& pushes) const;

 private:
  struct Query {
    std::size_t begin = 0;  // in rows_
    std::size_t end = 0;
    std::size_t place = 0;  // index into feedback_.queries
    double scale = 1.0;     // makes the expected weight of the draws equal to the weight of the pairs
    std::vector<std::size_t> class_at;  // where each class begins in rows_, and the end
  };

  /// Of one query, one per document.
  struct Draws {
    std::vector<std::uint64_t> partners;  // counted without the documents of the same class
    std::vector<DrawnPair> pairs;
    std::vector<double> powers;
    std::vector<Push> pushes;
    std::vector<double> weights;  // of the pairs of one class with each other class
  };

  void add_query(std::size_t place);
  void draw_pairs(const Query& query, Random& random, std::span<const double> scores, Draws& draws) const;

  const rankboost::Feedback& feedback_;
  std::vector<std::size_t> rows_;       // by query, then by class, then by row
  std::vector<std::uint32_t> classes_;  // by entry of rows_
  std::vector<Query> queries_;
};

/// A document that a feature ranks.
struct RankedDocument {
  std::uint32_t document = 0;
  std::uint8_t code = 0;
};

/// The documents that trees are grown on, one byte per feature.
class GrowData {
 public:
  /// in: features - at most 255 thresholds each, must outlive this object; rows - rows of the matrix
  GrowData(const CodedFeatures& features, std::span<const FeatureKind> kinds,
           std::span<const std::size_t> rows);

  std::size_t document_count() const { return documents_; }
  std::size_t feature_count() const { return codes_.size(); }
  /// The codes of a feature by document, as CodedFeatures::code() defines them.
  const std::vector<std::uint8_t>& codes(std::uint32_t feature) const { return codes_[feature]; }
  /// Whether a feature ranks so few documents that they are listed.
  bool is_sparse(std::uint32_t feature) const { return is_sparse_[feature] != 0; }
  /// The documents that a sparse feature ranks, ascending.
  std::span<const RankedDocument> ranked(std::uint32_t feature) const { return ranked_[feature]; }
  /// The highest code of a feature.
  std::size_t most(std::uint32_t feature) const { return features_.thresholds(feature).size(); }
  /// The threshold of the question "code or higher?", as a value of the feature. Requires code > 0.
  double threshold(std::uint32_t feature, std::size_t code) const;

 private:
  const CodedFeatures& features_;
  std::vector<FeatureKind> kinds_;
  std::size_t documents_ = 0;
  std::vector<std::vector<std::uint8_t>> codes_;
  std::vector<std::vector<RankedDocument>> ranked_;
  std::vector<std::uint8_t> is_sparse_;
};

struct GrowInput {
  const GrowData& data;
  const Pushes& pushes;
  std::span<const std::uint32_t> askable;  ///< features that this tree may ask about, ascending
  std::size_t depth = 3;                   ///< largest number of questions on the way to a leaf
};

/// Grows a tree that lowers the loss as much as possible, question by question, and remains monotone: the
/// middle of two children's values is an upper bound for all leaves below the lower child and a lower bound
/// for all below the upper one.
///
/// out:    steps - by document: the value of its leaf
/// cost:   O(depth x documents x askable features); a feature that ranks few documents costs only those, and
///         of two sibling nodes only the one with fewer documents is summed
/// source: Chen, Guestrin, XGBoost, 2016, eqs. (5) and (7), with bounds for monotone constraints
Tree grow_tree(const GrowInput& input, std::span<double> steps);

struct BoostOptions {
  std::size_t rounds = 100;  ///< trees
  std::size_t depth = 3;
  double rate = 0.1;                        ///< share of a tree's best step that is taken
  double features = 0.5;                    ///< share of the features that each tree may ask about
  double queries = 0.8;                     ///< share of the base queries that is learned from
  std::function<bool()> is_over = nullptr;  ///< called after each tree: whether to end
};

/// Boosts monotone trees on a sample of the queries. Each round draws new pairs and adds a tree that lowers
/// their loss. The first n trees are those that n rounds would have learned.
///
/// cost:   O(rounds x depth x documents x features)
std::vector<Tree> boost_trees(const CodedFeatures& features, std::span<const FeatureKind> kinds,
                              const rankboost::Feedback& feedback, const BoostOptions& options,
                              Random random);

/// The mean of several boosted sums of monotone trees, each learned from a different sample of the base
/// queries and from different drawn pairs. A step table states what a rank in one list is worth; a tree
/// states what it is worth given the ranks in other lists.
///
/// source: Friedman, Greedy function approximation, 2001; Burges et al. 2005; Chen, Guestrin 2016; Breiman,
///         Bagging predictors, 1996; not in any of the papers that metafuse reimplements
Learner learner();

}  // namespace metafuse::fusion::monotone_trees
