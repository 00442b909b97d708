#include "lab/learners/common/training.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/portable_math.h"
#include "fusion/learners/common/feedback_grades.h"
#include "fusion/model/sum_ranker.h"

namespace metafuse::lab {

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

Result<void> refuse_huge_features(const FeatureMatrix& documents) {
  for (std::size_t d = 0; d < documents.document_count(); ++d)
    for (std::size_t f = 0; f < documents.feature_count(); ++f)
      if (!documents.is_unranked(d, f) && !is_moderate(documents.value(d, f)))
        return fail(Code::bad_data,
                    "the feature " + documents.features()[f].name + " exceeds 1e100; scale it");
  return {};
}

Result<void> refuse_unread(const std::map<std::string, std::string>& given,
                           const std::vector<DependentOption>& options) {
  for (const auto& [name, is_read, needs] : options)
    if (!is_read && given.contains(name))
      return fail(Code::usage, fmt::format("--{} needs {}; leave it out", name, needs));
  return {};
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
    return fail(Code::bad_data, fmt::format("{} different grades; this learner allows at most {}: round them",
                                            grades.size(), kMost));
  return grades;
}

TrainingResult step_result(std::string learner, const TrainingRequest& request,
                           std::vector<WeakRanking> rankings, JsonObject training, std::string summary,
                           const std::function<void(std::size_t round, JsonObject& line)>& add_to_line) {
  std::vector<JsonObject> lines;
  if (request.trace.is_wanted) {
    const StepTrace trace(request);
    for (std::size_t t = 0; t < rankings.size(); ++t) {
      lines.push_back(trace.line(t + 1, rankings[t]));
      add_to_line(t, lines.back());
    }
  }
  const std::vector<Feature>& features = request.train->matrix.features();
  return {{std::move(learner), features, std::make_shared<SumRanker>(std::move(rankings), features),
           std::move(training)},
          std::move(lines),
          std::move(summary)};
}

}  // namespace metafuse::lab
