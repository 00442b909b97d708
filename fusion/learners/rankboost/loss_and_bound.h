#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "fusion/learners/rankboost/distribution.h"
#include "fusion/learners/rankboost/feedback.h"

namespace metafuse::fusion::rankboost {

/// Two scores tie when they differ by no more than rounding.
bool is_tie(double a, double b);

/// The weighted share of crucial pairs that the scores misorder, a tie costing 1/2.
/// source: Freund et al. 2003, eq. (21)
///
/// in:     scores - a row
/// cost:   O(documents log documents of a query x grades + pairs); pairs are not enumerated
double ranking_loss(const Feedback& feedback, std::span<const double> scores,
                    Communicator* communicator = nullptr);

/// The ranking loss of a growing sum of weak rankings. Where a query has few pairs per document they are
/// compared one with another, several at a time. The documents of other queries stay in order from one round
/// to the next: a {0, 1}-valued weak ranking only shifts some of them past others, so both kinds are merged.
/// Requires a feedback that outlives it.
class GrowingLoss {
 public:
  /// in:     scores - a row
  GrowingLoss(const Feedback& feedback, std::vector<double> scores);

  /// H += alpha h.
  ///
  /// cost:   O(documents); with a sort of each query where h is no step
  void add(const CodedRanking& ranking, double alpha);
  /// As ranking_loss().
  ///
  /// cost:   O(documents x grades + pairs); of queries with few pairs per document O(pairs)
  double value(Communicator* communicator = nullptr) const;

 private:
  struct Ranked {
    double score = 0.0;
    std::uint32_t row = 0;
  };

  void fill_places();
  std::span<const std::uint32_t> members_of(const QueryFeedback& query) const;
  void add_to_places(std::size_t begin, std::size_t end, const CodedRanking& ranking,
                     std::span<const double> steps);
  void merge(std::span<std::uint32_t> rows, const CodedRanking& ranking, double alpha);

  const Feedback& feedback_;
  std::vector<double> scores_;  ///< per row; where pairs are compared those of the beginning
  /// Query by query, with feedback: ascending by score; or class by class, each up to a multiple of four,
  /// where the query's pairs are compared.
  std::vector<std::uint32_t> rows_;
  std::vector<std::size_t> starts_;        ///< of each query in rows_, and the end
  std::vector<std::uint8_t> is_compared_;  ///< per query
  std::vector<std::uint32_t> members_;     ///< documents of each class of each query
  std::vector<double> place_scores_;       ///< of each of rows_, NaN in places without a document; or empty
  std::vector<Ranked> low_, high_;         ///< documents of the query at hand with h = 0 and with h = 1
};

/// The bound of theorem 3 (Freund et al. 2003, sec. 5.3) on |training error - true error|, which holds with
/// probability 1 - delta: for a sum of `rounds` weak rankings from a class of VC dimension d >= 2, m
/// documents below and n above.
double generalisation_bound(double d, std::uint64_t rounds, std::uint64_t m, std::uint64_t n, double delta);

/// What `model show` says of theorem 3, from a model's "training": the bound where the feedback was a single
/// bipartite function, "vacuous" when it is 1 or more, else why it does not apply. Empty for other learners.
/// Thresholds over N features with q_default free shatter no more than log2(2 N (m + n + 1)) documents, which
/// is the d used.
std::string generalisation_text(const JsonObject& training, std::uint64_t features);

}  // namespace metafuse::fusion::rankboost
