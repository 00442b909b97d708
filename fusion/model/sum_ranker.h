#pragma once

// The ranker whose score is a sum over features, each feature's part depending on its own value alone. What
// RankBoost, reciprocal rank fusion and their blends learn is of this form.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/model/model_file.h"
#include "fusion/model/value_ranking.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion {

/// Reciprocal rank fusion, also as the prior from which boosting starts: the sum over lists of
/// weight / (k + rank), and thresholded features on top.
struct FusedPart {
  double k = 0.0;
  std::vector<double> weights;     ///< one per feature, 0 for a value feature
  std::vector<WeakRanking> steps;  ///< none without boosting
};

/// What a sum consists of: one of the parts, or all of them.
struct SumParts {
  std::optional<FusedPart> fused;
  std::optional<std::vector<WeakRanking>> steps;    ///< thresholded features
  std::optional<std::vector<ValueRanking>> values;  ///< scaled features
};

/// A sum over features. For lists, the part per rank is kept in a table, which serving adds up and result
/// pages show. The parts are added in feature order everywhere, and those of one feature as
/// fused + (steps + values), so training, scoring and serving give identical scores.
///
/// Body: {"k","weights":[...],"weak_rankings":[...]} of a fusion; {"weak_rankings":[...]} of thresholded
/// features, in the order of the rounds; {"value_rankings":[...]} of scaled ones; and
/// {"fused","steps","values"}, each as above, of all.
class SumRanker final : public Ranker {
 public:
  SumRanker(SumParts parts, const std::vector<Feature>& features);
  /// A sum of thresholded features only.
  SumRanker(std::vector<WeakRanking> steps, const std::vector<Feature>& features);

  const SumParts& parts() const { return parts_; }
  /// The weak rankings if it is a sum of thresholded features only, else nullptr.
  const std::vector<WeakRanking>* rankings() const {
    return parts_.fused || !parts_.steps ? nullptr : &*parts_.steps;
  }

  /// Whether the feature contributes to any score.
  bool uses(std::size_t feature) const;
  /// What the feature contributes for a value; a list's value is minus the rank.
  double part(std::size_t feature, double value) const;
  /// What the feature contributes if the document is unranked.
  double unranked_part(std::size_t feature) const;

  /// For a list: what it contributes at rank 1, 2, ..., up to its depth, at most 1024 and
  /// its share of 2^18 for all lists. Entry 0, which always exists, is for unranked documents.
  const std::vector<double>& by_rank(std::size_t feature) const { return by_rank_[feature]; }
  double at_rank(std::size_t feature, std::uint32_t rank) const {
    const std::vector<double>& table = by_rank_[feature];
    return rank < table.size() ? table[rank] : part(feature, -static_cast<double>(rank));
  }

  /// cost: O(documents) per used feature; in a coded column, one search per distinct value instead of one
  ///       per document
  std::vector<double> score(const FeatureMatrix& documents) const override;
  /// cost: O(documents x used lists) from the tables
  std::vector<double> score_instances(const std::vector<Feature>& features,
                                      const QueryInstances& instances) const override;
  std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const override;
  const SumRanker* sum() const override { return this; }
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  double fused_part(std::size_t feature, double value) const;
  double learned_part(std::size_t feature, double value) const;
  void tabulate(const std::vector<Feature>& features);

  SumParts parts_;
  std::vector<FeatureKind> kinds_;
  // Of the parts that there are, one per feature.
  std::vector<StepTable> fused_steps_;
  std::vector<StepTable> steps_;
  std::vector<ValueLine> lines_;
  std::vector<std::vector<double>> by_rank_;  // empty for a feature that is not a list
};

/// errors: bad_data naming the field
Result<SumRanker> read_sum_ranker(const JsonObject& body, const std::vector<Feature>& features);

/// A table for people: what each list that counts contributes at some ranks, and to a document that it does
/// not hold. Empty if no feature is a list.
std::string rank_table(const SumRanker& ranker, const std::vector<Feature>& features);

}  // namespace metafuse::fusion
