#include "fusion/learners/common/early_stop.h"

#include <algorithm>

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
  return {{"measure", request.measure_name}, {"value", reported_value(request, value)}};
}

EarlyStop::EarlyStop(const TrainingRequest& request) : request_(request), best_(request.patience) {
  if (request.measure) scores_.emplace(request.validate->matrix);
}

}  // namespace metafuse::fusion
