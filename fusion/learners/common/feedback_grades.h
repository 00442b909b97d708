#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "fusion/data/training_set.h"

namespace metafuse::fusion {

/// Whether the feedback includes a document; false if it is unjudged and left out.
inline bool is_in_feedback(const TrainingSet& set, std::size_t document) {
  return set.in_feedback.empty() || set.in_feedback[document] != 0;
}

/// The grade that feedback uses: the judged grade or, in bipartite feedback, 1 for relevant and 0 otherwise.
inline double feedback_grade(const TrainingSet& set, std::size_t document) {
  if (!set.feedback.is_bipartite) return set.grades[document];
  return set.grades[document] >= set.feedback.relevance_level ? 1.0 : 0.0;
}

/// The unnormalised weight of a pair of documents of two grades, low < high (--grade-weights).
double grade_weight(const FeedbackOptions& options, double low, double high);

/// The distinct grades of a query's documents in the feedback, ascending.
std::vector<double> grades_of(const TrainingSet& set, const QueryRange& query);

/// The index of a grade among ascending grades, which must hold it.
inline std::size_t place_of(std::span<const double> grades, double grade) {
  return static_cast<std::size_t>(std::lower_bound(grades.begin(), grades.end(), grade) - grades.begin());
}

/// The weight of all pairs of a query together (--query-weights); `total` is the sum of their own weights.
double weight_of_query(const FeedbackOptions& options, const QueryRange& query, double total);

/// The documents that the feedback includes, ascending.
std::vector<std::size_t> judged_documents(const TrainingSet& set);

}  // namespace metafuse::fusion
