#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/random.h"
#include "fusion/data/thresholds.h"
#include "fusion/learners/monotone_trees/tree_ranker.h"
#include "fusion/learners/rankboost/feedback.h"

namespace metafuse::fusion::monotone_trees {

/// What a round learns from, a document each: which way and how strongly its drawn pairs push it, and how
/// fast that fades as its score moves.
struct Push {
  double potential = 0.0;  ///< minus the derivative of the loss
  double curvature = 0.0;  ///< a bound of its second derivative
};

/// Draws pairs of the logistic loss log(1 + e^(H(x0) - H(x1))): each document that has a crucial pair draws
/// one partner among its query's documents of other grades, so that a round costs O(documents) and no two
/// rounds learn from the same pairs.
///
/// source: the loss of Burges et al., Learning to rank using gradient descent, 2005; one partner a document
///         as xgboost's rank:pairwise draws it
class PairSampler {
 public:
  /// in:     queries - places in feedback.queries to draw from. Requires no general pairs; feedback must
  ///         outlive this.
  PairSampler(const rankboost::Feedback& feedback, std::span<const std::size_t> queries);

  /// The rows of the documents that can be drawn, query by query.
  const std::vector<std::size_t>& rows() const { return rows_; }

  /// in:     scores - a place in rows()
  /// out:    pushes - a place in rows(); the potentials of a query sum to 0
  void draw(Random& random, std::span<const double> scores, std::span<Push> pushes) const;

 private:
  struct Query {
    std::size_t begin = 0;  // of rows_
    std::size_t end = 0;
    std::size_t place = 0;              // in feedback_.queries
    double scale = 1.0;                 // makes the expected weight of its draws that of its pairs
    std::vector<std::size_t> class_at;  // where each class begins in rows_, and the end
  };

  struct DrawnPair {
    std::size_t high = 0;  // places in rows_
    std::size_t low = 0;
    double weight = 0.0;
  };
  struct Draws {
    std::vector<DrawnPair> pairs;  // of one query: one per document
    std::vector<double> powers;    // e^(score of high - score of low)
  };

  void add_query(std::size_t place);
  void draw_pairs(const Query& query, Random& random, std::span<const double> scores, Draws& draws) const;

  const rankboost::Feedback& feedback_;
  std::vector<std::size_t> rows_;       // of a query: by class, then by row
  std::vector<std::uint32_t> classes_;  // of the rows
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
  /// in:     features - of at most 255 thresholds each, must outlive this; rows - of the matrix
  GrowData(const CodedFeatures& features, std::span<const FeatureKind> kinds,
           std::span<const std::size_t> rows);

  std::size_t document_count() const { return documents_; }
  std::size_t feature_count() const { return codes_.size(); }
  /// A document: from which code on a threshold fires is told by CodedFeatures::code().
  const std::vector<std::uint8_t>& codes(std::uint32_t feature) const { return codes_[feature]; }
  /// Whether a feature ranks so few documents that they are listed.
  bool is_sparse(std::uint32_t feature) const { return is_sparse_[feature] != 0; }
  /// The documents that a sparse feature ranks, ascending.
  std::span<const RankedDocument> ranked(std::uint32_t feature) const { return ranked_[feature]; }
  /// The highest code of a feature.
  std::size_t most(std::uint32_t feature) const { return features_.thresholds(feature).size(); }
  /// What "from this code on" asks of a value. Requires code > 0.
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
  std::span<const Push> pushes;            ///< per document
  std::span<const std::uint32_t> askable;  ///< features that this tree may ask about, ascending
  std::size_t depth = 3;                   ///< questions on the way to a leaf, at most
};

/// A tree that lowers the loss most, question by question, within what keeps it monotone: a node's children
/// may be worth no more and no less than the middle of the two allows on their sides, for all below them.
///
/// out:    steps - a document: the value of its leaf
/// cost:   O(depth x documents x askable features); a feature that ranks few documents costs only those, and
///         a level only the fewer documents of every two nodes
/// source: Chen, Guestrin, XGBoost, 2016, eqs. (5) and (7), with bounds for monotone constraints
Tree grow_tree(const GrowInput& input, std::span<double> steps);

struct BoostOptions {
  std::size_t rounds = 100;  ///< trees
  std::size_t depth = 3;
  double rate = 0.1;                        ///< what of a tree's best step is taken
  double features = 0.5;                    ///< share of the features that each tree may ask about
  double queries = 0.8;                     ///< share of the base queries that are learned from
  std::function<bool()> is_over = nullptr;  ///< asked after each tree: whether to end
};

/// Boosts monotone trees on a sample of the queries: each round draws pairs anew and adds a tree that lowers
/// their loss. The first n trees are what n rounds would have learned.
///
/// cost:   O(rounds x depth x documents x features)
std::vector<Tree> boost_trees(const CodedFeatures& features, std::span<const FeatureKind> kinds,
                              const rankboost::Feedback& feedback, const BoostOptions& options,
                              Random random);

}  // namespace metafuse::fusion::monotone_trees
