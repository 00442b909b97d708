#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "fusion/learners/rankboost/distribution.h"
#include "fusion/learners/rankboost/feedback.h"

namespace metafuse::fusion::rankboost {

/// Whether two scores differ by no more than rounding.
bool is_tie(double a, double b);

/// The weighted share of crucial pairs that the scores misorder, a tie costing 1/2.
/// source: Freund et al. 2003, eq. (21)
///
/// in:     scores - one per row
/// cost:   O(documents log documents x grades + pairs) per query; pairs that follow from grades are
///         not enumerated
double ranking_loss(const Feedback& feedback, std::span<const double> scores,
                    Communicator* communicator = nullptr);

/// The ranking loss of a growing sum of weak rankings. In queries with few pairs per document, the
/// documents of every pair are compared directly, several pairs at a time. In other queries the documents
/// are kept in order from round to round: a {0, 1}-valued weak ranking shifts the documents with h = 1 by
/// the same amount, so they and the others remain sorted and need only be merged. The feedback must outlive
/// this object.
class GrowingLoss {
 public:
  /// in: scores - the initial H, one per row
  GrowingLoss(const Feedback& feedback, std::vector<double> scores);

  /// H += alpha h.
  ///
  /// cost: O(documents), plus one sort per query if h is not {0, 1}-valued
  void add(const CodedRanking& ranking, double alpha);
  /// As ranking_loss().
  ///
  /// cost: O(documents x grades + pairs); O(pairs) for queries with few pairs per document
  double value(Communicator* communicator = nullptr) const;

 private:
  struct Ranked {
    double score = 0.0;
    std::uint32_t row = 0;
  };

  void fill_places();
  void add_to_places(std::size_t begin, std::size_t end, const CodedRanking& ranking,
                     std::span<const double> steps);
  void merge(std::span<std::uint32_t> rows, const CodedRanking& ranking, double alpha);

  const Feedback& feedback_;
  std::vector<double> scores_;  ///< by row; stays at the initial scores where pairs are compared
  /// Documents in feedback, query by query. Sorted by score, ascending; or, if the query's pairs are
  /// compared, class by class, each class padded to a multiple of four.
  std::vector<std::uint32_t> rows_;
  std::vector<std::size_t> starts_;        ///< where each query begins in rows_, and the end
  std::vector<std::uint8_t> is_compared_;  ///< by query: whether its pairs are compared
  /// The score of each of rows_, NaN for padding; empty if no query's pairs are compared.
  std::vector<double> place_scores_;
  std::vector<Ranked> low_, high_;  ///< documents of the current query with h = 0 and h = 1
};

/// The bound of theorem 3 (Freund et al. 2003, sec. 5.3) on |training error - true error|. It holds with
/// probability 1 - delta for a sum of `rounds` weak rankings from a class of VC dimension d >= 2, with m
/// documents below and n above.
double generalisation_bound(double d, std::uint64_t rounds, std::uint64_t m, std::uint64_t n, double delta);

/// What `model show` prints about theorem 3, from a model's "training" record: the bound if the feedback was
/// a single bipartite one ("vacuous" if the bound is 1 or more), or why the theorem does not apply to it. It
/// is empty for a sum over queries and for other learners. d is taken as log2(2 N (m + n + 1)), since
/// thresholds over N features with q_default free shatter no more documents than that.
std::string generalisation_text(const JsonObject& training, std::uint64_t features);

}  // namespace metafuse::fusion::rankboost
