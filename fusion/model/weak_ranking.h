#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/model/model_file.h"
#include "fusion/model/sum_ranker.h"

namespace metafuse::fusion {

/// h(x) = 1 if f(x) > threshold, 0 if not, q_default if x is unranked (Freund et al. 2003, eq. (9)), with its
/// weight. The threshold may be minus infinity: fires for any ranked document. Of a rank feature it is -(k +
/// 1), so that h = 1 iff rank <= k.
struct WeakRanking {
  std::uint32_t feature = 0;
  double threshold = 0.0;
  double q_default = 0.0;
  double alpha = 0.0;

  friend bool operator==(const WeakRanking&, const WeakRanking&) = default;
};

/// Adds alpha * h of every document to its score.
/// cost:   O(documents)
void add_to_scores(const FeatureMatrix& documents, const WeakRanking& ranking, std::vector<double>& scores);

/// What one feature adds to a score: a step function of its value.
struct StepTable {
  std::vector<double> thresholds;  ///< ascending, distinct; may begin with minus infinity
  std::vector<double> weights;  ///< thresholds.size() + 1: weights[j] for a value above exactly j thresholds
  double unranked = 0.0;

  double at(double value) const;
};

/// The step table of every feature: cumulative weights of equal weak rankings are summed in the order given,
/// then by threshold ascending.
std::vector<StepTable> step_tables(std::span<const WeakRanking> rankings, std::span<const Feature> features);

/// A sum of thresholded features; what RankBoost and its relatives learn.
///
/// body: {"weak_rankings":[{"feature","threshold"|"rank","q_default","alpha"}...]}, in the order of the
/// rounds; "feature" counts from 0 in the model's features; null threshold or rank: minus infinity
class StepRanker final : public SumRanker {
 public:
  StepRanker(std::vector<WeakRanking> rankings, const std::vector<Feature>& features);

  const std::vector<WeakRanking>& rankings() const { return rankings_; }
  const std::vector<StepTable>& tables() const { return tables_; }

  bool uses(std::size_t feature) const override { return !tables_[feature].thresholds.empty(); }
  double part(std::size_t feature, double value) const override { return tables_[feature].at(value); }
  double unranked_part(std::size_t feature) const override { return tables_[feature].unranked; }
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  std::vector<WeakRanking> rankings_;
  std::vector<FeatureKind> kinds_;
  std::vector<StepTable> tables_;
};

/// The "weak_rankings" of a model's body.
JsonArray weak_rankings_json(std::span<const WeakRanking> rankings, std::span<const FeatureKind> kinds);

/// errors: bad_data naming the field: no list, no such feature, both or neither of threshold and rank,
///         numbers out of range
Result<std::vector<WeakRanking>> read_weak_rankings(const JsonObject& body,
                                                    const std::vector<Feature>& features);

/// A Learner's `read` for bodies that hold weak_rankings.
Result<std::shared_ptr<const Ranker>> read_step_ranker(const JsonObject& body,
                                                       const std::vector<Feature>& features);

}  // namespace metafuse::fusion
