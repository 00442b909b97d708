#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/rankboost/distribution.h"
#include "fusion/rankboost/search.h"

namespace metafuse::fusion::rankboost {

/// Weak learner 2: the admissible candidate of least Z = W0 + 2 sqrt(W- W+) (paper 000, eq. (3)).
///
/// W- + W+ is not linear in the potentials. For each query and feature the documents are visited from the
/// highest value down, keeping for every grade the weight that stands above the threshold: O(grades) a
/// document and feature, and no pair is enumerated but those of general feedback.
class SideSearch {
 public:
  SideSearch(const Feedback& feedback, const CodedFeatures& features, const Options& options,
             unsigned threads, Communicator* communicator = nullptr);

  /// out: nothing when no candidate is admissible
  std::optional<Candidate> find(const Distribution& distribution, const CumulativeWeights& weights,
                                const AlphaOf& alpha_of);

 private:
  /// The factors of D, or ones to count pairs.
  struct Weights {
    const double* up = nullptr;
    const double* down = nullptr;
    const double* tables = nullptr;
    const double* pairs = nullptr;
    double scale = 1.0;
  };
  /// Changes of W- and W+ a code when the threshold falls below it; the last place holds what unranked
  /// documents give at q_default 1.
  struct Sides {
    std::vector<std::int64_t> right;
    std::vector<std::int64_t> wrong;
  };

  void order_documents();
  void sweep_all(const Weights& weights);
  Sides sweep(std::size_t feature, int q_default, const Weights& weights) const;
  void sweep_query(const QueryFeedback& query, std::size_t feature, int q_default, const Weights& weights,
                   std::vector<double>& scratch, Sides& sides) const;
  void add_pairs(const QueryFeedback& query, std::size_t feature, int q_default, const Weights& weights,
                 Sides& sides) const;
  void find_possible_sides();
  template <class Take>
  void for_each_candidate(std::size_t feature, double total, const Take& take) const;
  std::uint32_t local(std::size_t feature, std::size_t at) const {
    return narrow_.empty() ? wide_[feature][at] : narrow_[feature][at];
  }

  const Feedback* feedback_;
  const CodedFeatures* features_;
  const Options* options_;
  unsigned threads_;
  Communicator* communicator_;
  std::vector<double> up_;  // D's factors of the round, by row
  std::vector<double> down_;
  std::vector<std::vector<std::uint8_t>> narrow_;  // a feature: rows of each query from its first, best first
  std::vector<std::vector<std::uint32_t>> wide_;   // the same when a query has more than 256 documents
  std::vector<std::array<std::vector<std::uint8_t>, 2>>
      possible_;                             // a feature and q_default: bits a threshold
  std::vector<std::array<Sides, 2>> sides_;  // of the round, a feature and q_default
};

}  // namespace metafuse::fusion::rankboost
