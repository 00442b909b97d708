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

JsonObject step_trace_line(const TrainingRequest& request, std::size_t round, const WeakRanking& ranking,
                           double deepest) {
  const FeatureKind kind = request.train->matrix.features()[ranking.feature].kind;
  JsonObject line;
  line["round"] = round;
  line["feature"] = ranking.feature + request.first_feature_number;
  put_threshold(line, kind, ranking.threshold);
  if (kind == FeatureKind::rank && std::isinf(ranking.threshold))
    line["rank"] = static_cast<std::int64_t>(deepest);
  line["q_default"] = static_cast<std::int64_t>(ranking.q_default);
  line["alpha"] = ranking.alpha;
  return line;
}

TrainingResult step_result(std::string learner, const TrainingRequest& request,
                           std::vector<WeakRanking> rankings, JsonObject training, std::string summary,
                           const std::function<void(std::size_t round, JsonObject& line)>& add_to_line) {
  std::vector<JsonObject> lines;
  if (request.wants_trace) {
    const StepTrace trace(request);
    for (std::size_t t = 0; t < rankings.size(); ++t) {
      lines.push_back(trace.line(t + 1, rankings[t]));
      add_to_line(t, lines.back());
    }
  }
  const std::vector<Feature>& features = request.train->matrix.features();
  return {{std::move(learner), features, std::make_shared<StepRanker>(std::move(rankings), features),
           std::move(training)},
          std::move(lines),
          std::move(summary)};
}

}  // namespace metafuse::fusion
