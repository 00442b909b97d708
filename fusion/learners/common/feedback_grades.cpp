#include "fusion/learners/common/feedback_grades.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/portable_math.h"

namespace metafuse::fusion {
namespace {

void sort_distinct(std::vector<double>& grades) {
  std::sort(grades.begin(), grades.end());
  grades.erase(std::unique(grades.begin(), grades.end()), grades.end());
}

}  // namespace

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
  sort_distinct(grades);
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

Result<void> refuse_pair_options(const TrainingSet& set, std::string_view learner) {
  if (!set.pairs.empty())
    return fail(Code::usage,
                fmt::format("{} learns from the grades of single documents; leave out --pairs, or "
                            "use the learner rankboost",
                            learner));
  if (set.feedback.query_weights != FeedbackOptions::QueryWeights::pairs ||
      set.feedback.grade_weights != FeedbackOptions::GradeWeights::one)
    return fail(Code::usage, fmt::format("{} learns from the grades of single documents; leave out "
                                         "--query-weights and --grade-weights",
                                         learner));
  return {};
}

Result<std::vector<double>> grade_scale(const TrainingSet& set) {
  constexpr std::size_t kMost = 100;
  std::vector<double> grades;
  for (const std::size_t document : judged_documents(set)) grades.push_back(feedback_grade(set, document));
  sort_distinct(grades);
  if (grades.empty()) return fail(Code::bad_data, "no judged documents to learn from; check the judgments");
  if (grades.size() == 1)
    return fail(Code::bad_data, "every document has the same grade; ranking needs two grades or more");
  const bool are_whole =
      std::all_of(grades.begin(), grades.end(), [](double g) { return g == std::floor(g); });
  const double span = grades.back() - grades.front();
  if (are_whole && span < static_cast<double>(kMost)) {
    const double lowest = grades.front();
    grades.resize(static_cast<std::size_t>(span) + 1);
    for (std::size_t i = 0; i < grades.size(); ++i) grades[i] = lowest + static_cast<double>(i);
  }
  if (grades.size() > kMost)
    return fail(Code::bad_data, fmt::format("{} different grades; this learner allows at most {}: round them",
                                            grades.size(), kMost));
  return grades;
}

}  // namespace metafuse::fusion
