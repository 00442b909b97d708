#include "fusion/learners/common/step_result.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

namespace metafuse::fusion {

StepTrace::StepTrace(const TrainingRequest& request)
    : request_(request), deepest_(request.train->matrix.feature_count(), 0.0) {
  const FeatureMatrix& matrix = request.train->matrix;
  for (std::size_t f = 0; f < deepest_.size(); ++f) {
    if (matrix.features()[f].kind != FeatureKind::rank) continue;
    for (std::size_t row = 0; row < matrix.document_count(); ++row)
      if (!matrix.is_unranked(row, f)) deepest_[f] = std::max(deepest_[f], -matrix.value(row, f));
  }
}

JsonObject StepTrace::line(std::size_t round, const WeakRanking& ranking) const {
  const bool is_finite = std::isfinite(ranking.threshold);
  JsonObject line;
  line["round"] = round;
  line["feature"] = ranking.feature + request_.first_feature_number;
  if (request_.train->matrix.features()[ranking.feature].kind == FeatureKind::rank)
    line["rank"] =
        static_cast<std::int64_t>(is_finite ? -ranking.threshold - 1.0 : deepest_[ranking.feature]);
  else if (is_finite)
    line["threshold"] = ranking.threshold;
  else
    line["threshold"] = nullptr;
  line["q_default"] = static_cast<std::int64_t>(ranking.q_default);
  line["alpha"] = ranking.alpha;
  return line;
}

TrainingResult step_result(std::string learner, const TrainingRequest& request,
                           std::vector<WeakRanking> rankings, JsonObject training, std::string summary) {
  TrainingResult result;
  result.model.learner = std::move(learner);
  result.model.features = request.train->matrix.features();
  result.model.ranker = std::make_shared<StepRanker>(std::move(rankings), result.model.features);
  result.model.training = std::move(training);
  result.summary = std::move(summary);
  return result;
}

}  // namespace metafuse::fusion
