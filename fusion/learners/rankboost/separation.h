#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fusion/data/thresholds.h"
#include "fusion/learners/rankboost/distribution.h"
#include "fusion/learners/rankboost/feedback.h"
#include "fusion/learners/rankboost/kernels.h"

namespace metafuse::fusion::rankboost {

/// How much weight of crucial pairs each threshold of a feature separates: W- + W+ of Freund et al. 2003, eq.
/// (3).
///
/// With `all` the weight of the pairs that a document belongs to and `both` that of its pairs with
/// documents already above the threshold, moving the document above it changes W- + W+ by all - 2 both. So
/// one walk through each query's documents from the highest value down is enough, which keeps what is left
/// of all - 2 both for every grade: O(grades) a document and feature, and no pair is enumerated but those
/// of general feedback.
class Separation {
 public:
  /// D, or ones to count pairs.
  struct Weights {
    const Distribution* factors = nullptr;
    std::span<const double> tables;
    std::span<const double> pairs;
    double scale = 1.0;  ///< what their products are multiplied by
  };

  Separation(const Feedback& feedback, const CodedFeatures& features, unsigned threads);

  /// The sums that every feature needs. `weights` must live until the last sweep.
  void prepare(const Weights& weights);

  /// How W- + W+ changes when the threshold falls below each code; the last place, behind the highest code,
  /// holds what unranked documents give at q_default 1.
  std::vector<std::int64_t> sweep(std::size_t feature, bool is_one_default) const;

 private:
  struct Scratch;

  void order_documents(std::size_t feature);
  void begin_query(const QueryFeedback& query, Scratch& scratch) const;
  void separate(const QueryFeedback& query, const MovingDocuments& documents, Scratch& scratch) const;
  void separate_many(const QueryFeedback& query, const MovingDocuments& documents, Scratch& scratch) const;
  void sweep_small(const QueryFeedback& query, std::size_t feature, bool is_one_default, Scratch& scratch,
                   std::vector<std::int64_t>& changes) const;
  void sweep_large(const QueryFeedback& query, std::size_t feature, bool is_one_default, Scratch& scratch,
                   std::vector<std::int64_t>& changes) const;
  void add_pairs(const QueryFeedback& query, std::size_t feature, bool is_one_default,
                 std::vector<std::int64_t>& changes) const;

  const Feedback* feedback_;
  const CodedFeatures* features_;
  Weights weights_;
  std::vector<double> costs_;  // per class of every query: weight of its pairs as the lower, over up
  std::vector<double> gains_;  // the same as the upper, over down
  // Per feature: rows from the query's first, best first; none where the codes lie in a file.
  std::vector<std::vector<std::uint8_t>> orders_;
};

}  // namespace metafuse::fusion::rankboost
