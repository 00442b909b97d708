#include "fusion/learners/common/feedback_grades.h"

#include <algorithm>
#include <cmath>

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

std::vector<std::size_t> judged_documents(const TrainingSet& set) {
  std::vector<std::size_t> documents;
  for (std::size_t document = 0; document < set.grades.size(); ++document)
    if (is_in_feedback(set, document)) documents.push_back(document);
  return documents;
}

Result<std::vector<double>> grade_scale(const TrainingSet& set) {
  constexpr std::size_t kMost = 100;
  std::vector<double> grades;
  for (const std::size_t document : judged_documents(set)) grades.push_back(feedback_grade(set, document));
  std::sort(grades.begin(), grades.end());
  grades.erase(std::unique(grades.begin(), grades.end()), grades.end());
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
    return fail(Code::bad_data, std::to_string(grades.size()) +
                                    " different grades; this learner allows at most " +
                                    std::to_string(kMost) + ": round them");
  return grades;
}

}  // namespace metafuse::fusion
