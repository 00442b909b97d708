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

/// How much weight of crucial pairs each threshold of a feature separates: W- + W+ of Freund et al. 2003,
/// eq. (3).
///
/// Let `all` be the weight of all pairs of a document, and `both` that of its pairs with documents already
/// above the threshold. Moving the document above the threshold changes W- + W+ by all - 2 both. So a single
/// walk through each query's documents from the highest value down suffices. It maintains the remaining all -
/// 2 both for every grade. This takes O(grades) per document and feature, and only the pairs of general
/// feedback are enumerated.
class Separation {
 public:
  /// The weights of the pairs: D, or ones to count pairs.
  struct Weights {
    const Distribution* factors = nullptr;
    std::span<const double> tables;
    std::span<const double> pairs;
    double scale = 1.0;  ///< multiplies every weight
  };

  Separation(const Feedback& feedback, const CodedFeatures& features, unsigned threads);

  /// Computes the sums that all features need. `weights` must live until the last sweep.
  void prepare(const Weights& weights);

  /// How W- + W+ changes when the threshold falls below each code. The last entry, after the highest code,
  /// holds what the unranked documents contribute if q_default is 1.
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
  // By class of every query: the weight of a document's pairs as the lower one, divided by its up.
  std::vector<double> costs_;
  // The same as the upper one, divided by its down.
  std::vector<double> gains_;
  // By feature: row offsets within the query, best first; empty if the codes lie in a file.
  std::vector<std::vector<std::uint8_t>> orders_;
};

}  // namespace metafuse::fusion::rankboost
