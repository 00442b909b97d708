#pragma once

// The ranker of the form "a sum over features, each feature's part depending on its own value alone":
// thresholded features, scaled features, reciprocal ranks, and blends of them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/model/model_file.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion {

/// h(x) = f(x), scaled to [0, 1] by the training range; q_default if unranked (Freund et al. 2003, sec. 4,
/// the first weak learner). A value outside the range counts as the nearer end of the range.
struct ValueRanking {
  std::uint32_t feature = 0;
  double low = 0.0;
  double high = 0.0;
  double q_default = 0.0;
  double alpha = 0.0;
};

/// Reciprocal rank fusion: each list contributes weight / (k + rank).
struct RankShares {
  double k = 0.0;
  std::vector<double> weights;  ///< one per feature, 0 for a value feature
};

/// A sum over features. For lists, the part per rank is kept in a table, which serving adds up and result
/// pages show. The parts are added in feature order everywhere, so training, scoring and serving give
/// identical scores.
///
/// Body, which tells the addends:
/// {"weak_rankings":[{"feature","threshold"|"rank","q_default","alpha"}...]}, in the order of the rounds.
/// "feature" is an index into the model's features, from 0; a threshold or rank of null means minus infinity.
/// {"value_rankings":[{"feature","low","high","q_default","alpha"}...]}, in the order of the rounds.
/// {"k","weights":[one per feature],"weak_rankings":[...]}: shares, with thresholded features on top.
/// {"fused": such shares, "steps": {"weak_rankings"}, "values": {"value_rankings"}}: a blend.
class AdditiveRanker final : public Ranker {
 public:
  enum class Addends { steps, values, shares, blend };

  static AdditiveRanker of_steps(std::vector<WeakRanking> steps, const std::vector<Feature>& features);
  static AdditiveRanker of_values(std::vector<ValueRanking> values, const std::vector<Feature>& features);
  /// in: on_top - what was learned on top of the shares
  static AdditiveRanker of_shares(RankShares shares, std::vector<WeakRanking> on_top,
                                  const std::vector<Feature>& features);
  /// Requires rankers of shares, steps and values over the same features.
  static AdditiveRanker of_blend(AdditiveRanker fused, AdditiveRanker steps, AdditiveRanker values);

  Addends addends() const { return addends_; }
  const RankShares& shares() const { return shares_; }
  /// The thresholded features, in the order of the rounds: those on top of shares, or those of a blend that
  /// were learned alone.
  const std::vector<WeakRanking>& on_top() const { return on_top_.rankings; }
  const std::vector<WeakRanking>& steps() const { return steps_.rankings; }
  const std::vector<StepTable>& step_tables() const { return steps_.tables; }
  const std::vector<ValueRanking>& values() const { return values_; }

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
  std::vector<double> contributions(const FeatureMatrix& documents, std::size_t document) const override;
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;
  const AdditiveRanker* additive() const override { return this; }

 private:
  struct Steps {
    std::vector<WeakRanking> rankings;
    std::vector<StepTable> tables;  // one per feature, if there may be rankings
  };
  /// What one feature contributes: the sum of by_default times the scaled value; by_default[1] if unranked.
  struct Line {
    double low = 0.0;
    double high = 0.0;
    double by_default[2] = {0.0, 0.0};  // sum of the alphas with q_default 0 and 1
    bool is_used = false;

    double at(double value) const;
  };

  AdditiveRanker(Addends addends, const std::vector<Feature>& features);
  double fused_part(std::size_t feature, double value) const;
  JsonObject steps_body(const std::vector<WeakRanking>& rankings) const;
  JsonObject values_body() const;
  JsonObject shares_body() const;
  std::string describe_steps(const Steps& steps, const std::vector<Feature>& features) const;
  std::string describe_values(const std::vector<Feature>& features) const;
  std::string describe_shares(const std::vector<Feature>& features) const;
  void tabulate();

  Addends addends_;
  std::vector<FeatureKind> kinds_;
  RankShares shares_;
  Steps on_top_;
  Steps steps_;
  std::vector<ValueRanking> values_;
  std::vector<Line> lines_;
  std::vector<std::vector<double>> by_rank_;  // empty for a feature that is not a list
};

/// A table for people: what each list that counts contributes at some ranks, and to a document that it does
/// not hold. Empty if no feature is a list.
std::string rank_table(const AdditiveRanker& ranker, const std::vector<Feature>& features);

/// Reads a body of any of the addends.
/// errors: bad_data naming the field
Result<SharedRanker> read_additive_ranker(const JsonObject& body, const std::vector<Feature>& features);

}  // namespace metafuse::fusion
