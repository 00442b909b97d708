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

/// The ranking loss of a growing sum of weak rankings. Each query's documents stay in order from one round to
/// the next: a {0, 1}-valued weak ranking only shifts some of them past others, so both kinds are merged.
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
  /// cost:   O(documents x grades + pairs)
  double value(Communicator* communicator = nullptr) const;

 private:
  struct Ranked {
    double score = 0.0;
    std::uint32_t row = 0;
  };

  void merge(std::span<std::uint32_t> rows, const CodedRanking& ranking, double alpha);

  const Feedback& feedback_;
  std::vector<double> scores_;
  std::vector<std::uint32_t> rows_;  ///< with feedback, query by query, ascending by score
  std::vector<std::size_t> starts_;  ///< of each query in rows_, and the end
  std::vector<Ranked> low_, high_;   ///< documents of the query at hand with h = 0 and with h = 1
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
