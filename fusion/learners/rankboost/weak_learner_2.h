#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fusion/learners/rankboost/candidates.h"

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

/// Weak learner 2: chooses the admissible candidate with the smallest Z = W0 + 2 sqrt(W- W+) (Freund et al.
/// 2003, eq. (3)).
///
/// W- - W+ is the edge, a sum of potentials as in weak learner 3; W- + W+ costs a sweep. The criterion, 1 - Z
/// = (sqrt W- - sqrt W+)^2, falls when W- + W+ grows while the edge stays the same. In a round a pair keeps
/// at least the share e^-|alpha| / Z of its weight. So W- + W+ of the last sweep yields an upper bound on the
/// criterion, and features whose bound is below the best candidate need not be swept. Skipping them does not
/// change the result.
class WeakLearner2 {
 public:
  /// in: distribution - before the first anchor()
  WeakLearner2(const Problem& problem, const Distribution& distribution);

  /// out: nothing if no candidate is admissible
  std::optional<Candidate> find(const Distribution& distribution, const CumulativeWeights& weights,
                                const AlphaOf& alpha_of);

  /// To be called after each update of the distribution.
  /// in: z - the total by which D was divided
  void distribution_changed(double alpha, double z);

 private:
  /// What is known about one feature with one q_default.
  struct Known {
    std::vector<std::int64_t> changes;  ///< of the last sweep, see Separation::sweep
    std::vector<double> separated;      ///< by threshold: W- + W+ when it was swept
    /// Bits per threshold: whether some pair is ordered correctly, and whether some is ordered incorrectly.
    std::vector<std::uint8_t> possible;
  };

  void find_possible_sides(const Distribution& distribution);
  void sweep(std::span<const std::size_t> features);
  void add_up_ranks(std::span<const std::size_t> features);
  double bound(std::size_t feature, const RoundState& round) const;
  double visit(std::size_t feature, const RoundState& round);
  bool is_tried(std::size_t q_default) const {
    return q_default == 0 ? problem_.options.may_be_zero() : problem_.options.may_be_one();
  }
  /// Calls take(threshold, q_default, edge, W- + W+ of the last sweep) in the order of the candidates.
  template <class Take>
  void for_each_edge(std::size_t feature, const Take& take) const;
  template <class Take>
  void for_each_candidate(std::size_t feature, double total, const Take& take) const;

  Problem problem_;
  std::vector<std::size_t> all_features_;
  Histograms histograms_;
  Separation separation_;
  FeatureSearch search_;
  std::vector<std::array<Known, 2>> known_;
  std::vector<double> swept_at_;  // by feature: log_kept_ when it was swept
  double log_kept_ = 0.0;         // log of the share of its initial weight that every pair has kept at least
};

}  // namespace metafuse::fusion::rankboost
