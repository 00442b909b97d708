#pragma once

#include <cstddef>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"

namespace metafuse::fusion {

/// Whether feedback speaks of a document; false where an unjudged one is left out.
inline bool is_in_feedback(const TrainingSet& set, std::size_t document) {
  return set.in_feedback.empty() || set.in_feedback[document] != 0;
}

/// The grade that feedback goes by: the judged one, or of bipartite feedback 1 for relevant and 0 for
/// the rest.
inline double feedback_grade(const TrainingSet& set, std::size_t document) {
  if (!set.feedback.is_bipartite) return set.grades[document];
  return set.grades[document] >= set.feedback.relevance_level ? 1.0 : 0.0;
}

/// The weight of a pair of two grades, low < high, before it is normalised (--grade-weights).
double grade_weight(const FeedbackOptions& options, double low, double high);

/// The documents that feedback speaks of, ascending.
std::vector<std::size_t> judged_documents(const TrainingSet& set);

/// The grades of the judged documents: whole numbers from the lowest to the highest when all are whole and
/// few, else the distinct ones, ascending.
///
/// errors: bad_data: no documents, one grade only, more than 100 grades
Result<std::vector<double>> grade_scale(const TrainingSet& set);

}  // namespace metafuse::fusion
