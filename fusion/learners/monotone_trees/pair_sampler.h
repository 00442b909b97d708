#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/random.h"
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
  /// in: queries - places in feedback.queries to draw from. Requires no general pairs; feedback must outlive
  ///     this.
  PairSampler(const rankboost::Feedback& feedback, std::span<const std::size_t> queries);

  /// The rows of the documents that can be drawn, query by query.
  const std::vector<std::size_t>& rows() const { return rows_; }

  /// in:  scores - a place in rows()
  /// out: pushes - a place in rows(); the potentials of a query sum to 0
  void draw(Random& random, std::span<const double> scores, std::span<Push> pushes) const;

 private:
  struct Query {
    std::size_t begin = 0;  // of rows_
    std::size_t end = 0;
    std::size_t place = 0;              // in feedback_.queries
    double scale = 1.0;                 // makes the expected weight of its draws that of its pairs
    std::vector<std::size_t> class_at;  // where each class begins in rows_, and the end
  };

  void add_query(std::size_t place);
  void draw_query(const Query& query, Random& random, std::span<const double> scores,
                  std::span<Push> pushes) const;

  const rankboost::Feedback& feedback_;
  std::vector<std::size_t> rows_;  // of a query: by class, then by row
  std::vector<Query> queries_;
};

}  // namespace metafuse::fusion::monotone_trees
