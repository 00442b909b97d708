#include "fusion/learners/common/feedback_grades.h"

#include <algorithm>

#include "core/portable_math.h"

namespace metafuse::fusion {

double grade_weight(const FeedbackOptions& options, double low, double high) {
  switch (options.grade_weights) {
    case FeedbackOptions::GradeWeights::one:
      break;
    case FeedbackOptions::GradeWeights::difference:
      return high - low;
    case FeedbackOptions::GradeWeights::gain:
      return portable_exp2(high) - portable_exp2(low);
  }
  return 1.0;
}

std::vector<double> grades_of(const TrainingSet& set, const QueryRange& query) {
  std::vector<double> grades;
  for (std::size_t row = query.begin; row < query.end; ++row)
    if (is_in_feedback(set, row)) grades.push_back(feedback_grade(set, row));
  std::sort(grades.begin(), grades.end());
  grades.erase(std::unique(grades.begin(), grades.end()), grades.end());
  return grades;
}

double weight_of_query(const FeedbackOptions& options, const QueryRange& query, double total) {
  return options.query_weights == FeedbackOptions::QueryWeights::pairs ? total * query.weight : query.weight;
}

std::vector<std::size_t> judged_documents(const TrainingSet& set) {
  std::vector<std::size_t> documents;
  for (std::size_t document = 0; document < set.grades.size(); ++document)
    if (is_in_feedback(set, document)) documents.push_back(document);
  return documents;
}

}  // namespace metafuse::fusion
