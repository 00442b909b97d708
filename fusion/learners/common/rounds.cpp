#include "fusion/learners/common/rounds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace metafuse::fusion {

ValidationScores::ValidationScores(const FeatureMatrix& matrix)
    : matrix_(&matrix), parts_(matrix.feature_count()), scores_(matrix.document_count(), 0.0) {}

const std::vector<double>& ValidationScores::add(const WeakRanking& ranking) {
  Part& part = parts_[ranking.feature];
  add_ranking(ranking, part.rankings);
  const StepTable table = step_tables(part.rankings, matrix_->features())[ranking.feature];
  part.scores.resize(scores_.size());
  for (std::size_t row = 0; row < scores_.size(); ++row)
    part.scores[row] = matrix_->is_unranked(row, ranking.feature)
                           ? table.unranked
                           : table.at(matrix_->value(row, ranking.feature));
  std::fill(scores_.begin(), scores_.end(), 0.0);
  for (const Part& other : parts_)
    for (std::size_t row = 0; row < other.scores.size(); ++row) scores_[row] += other.scores[row];
  return scores_;
}

JsonObject validation_record(const TrainingRequest& request, double value) {
  return {{"measure", request.measure.name}, {"value", request.measure.reported(value)}};
}

EarlyStop::EarlyStop(const TrainingRequest& request) : request_(request), best_(request.patience) {
  if (request.measure.value) scores_.emplace(request.validate->matrix);
}

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
  line["feature"] = ranking.feature + request.trace.first_feature_number;
  put_threshold(line, kind, ranking.threshold);
  if (kind == FeatureKind::rank && std::isinf(ranking.threshold))
    line["rank"] = static_cast<std::int64_t>(deepest);
  line["q_default"] = static_cast<std::int64_t>(ranking.q_default);
  line["alpha"] = ranking.alpha;
  return line;
}

}  // namespace metafuse::fusion
