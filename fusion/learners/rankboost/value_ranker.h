#pragma once

#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion::rankboost {

/// h(x) = f(x), scaled to [0, 1] by the training range; q_default if unranked (Freund et al. 2003, sec. 4,
/// the first weak learner). A value outside the range counts as the nearer end of the range.
struct ValueRanking {
  std::uint32_t feature = 0;
  double low = 0.0;
  double high = 0.0;
  double q_default = 0.0;
  double alpha = 0.0;
};

/// A sum of scaled features.
///
/// Body: {"value_rankings":[{"feature","low","high","q_default","alpha"}...]}, in the order of the rounds
class ValueRanker final : public SumRanker {
 public:
  ValueRanker(std::vector<ValueRanking> rankings, const std::vector<Feature>& features);

  const std::vector<ValueRanking>& rankings() const { return rankings_; }

  bool uses(std::size_t feature) const override { return lines_[feature].is_used; }
  double part(std::size_t feature, double value) const override;
  double unranked_part(std::size_t feature) const override { return lines_[feature].by_default[1]; }
  JsonObject body() const override;
  std::string describe(const std::vector<Feature>& features) const override;

 private:
  /// What one feature contributes: the sum of by_default times the scaled value; by_default[1] if unranked.
  struct Line {
    double low = 0.0;
    double high = 0.0;
    double by_default[2] = {0.0, 0.0};  // sum of the alphas with q_default 0 and 1
    bool is_used = false;
  };

  std::vector<ValueRanking> rankings_;
  std::vector<Line> lines_;
};

/// errors: bad_data naming the field
Result<std::shared_ptr<const Ranker>> read_value_ranker(const JsonObject& body,
                                                        const std::vector<Feature>& features);

}  // namespace metafuse::fusion::rankboost
