#include "fusion/learners/adaboost_mh/training_data.h"

#include <algorithm>
#include <sstream>

#include "fusion/learners/online/online_ranker.h"

namespace metafuse::fusion::adaboost_mh {
namespace {

bool takes_part(const TrainingSet& set, std::size_t document) {
  return set.in_feedback.empty() || set.in_feedback[document] != 0;
}

double grade_of(const TrainingSet& set, std::size_t document) {
  if (!set.feedback.is_bipartite) return set.grades[document];
  return set.grades[document] >= set.feedback.relevance_level ? 1.0 : 0.0;
}

}  // namespace

Result<std::vector<double>> class_grades(const TrainingSet& set) {
  if (!set.pairs.empty())
    return fail(Code::usage, "AdaBoost.MH learns classes from grades; leave out --pairs");
  if (set.feedback.query_weights != FeedbackOptions::QueryWeights::pairs ||
      set.feedback.grade_weights != FeedbackOptions::GradeWeights::one)
    return fail(Code::usage,
                "AdaBoost.MH weights documents by 2^grade; leave out --query-weights and "
                "--grade-weights");
  std::vector<double> seen;
  for (std::size_t d = 0; d < set.grades.size(); ++d)
    if (takes_part(set, d)) seen.push_back(grade_of(set, d));
  auto grades = grades_of(std::move(seen));
  if (!grades) return grades;
  if (grades->size() > 20 || grades->back() > 40.0)
    return fail(Code::bad_data,
                std::to_string(grades->size()) + " grades up to " +
                    std::to_string(static_cast<int>(grades->back())) +
                    "; AdaBoost.MH takes at most 20 classes and grades up to 40: map them to fewer");
  return grades;
}

Result<GradedDocuments> graded_documents(const TrainingSet& set, const std::vector<double>& grades) {
  GradedDocuments documents;
  std::vector<std::size_t> rows;
  for (const QueryRange& query : set.queries) {
    const std::size_t begin = rows.size();
    for (std::size_t d = query.begin; d < query.end; ++d) {
      if (!takes_part(set, d)) continue;
      const double grade = grade_of(set, d);
      const auto place = std::find(grades.begin(), grades.end(), grade);
      if (place == grades.end()) {
        std::ostringstream text;
        text << "query " << query.id << " has a document of grade " << grade
             << ", which no training document has";
        return fail(Code::bad_data, text.str());
      }
      documents.classes.push_back(static_cast<int>(place - grades.begin()));
      rows.push_back(d);
    }
    if (rows.size() > begin) documents.queries.push_back({begin, rows.size()});
  }
  documents.matrix = FeatureMatrix(set.matrix.features(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t f = 0; f < set.matrix.feature_count(); ++f)
      if (!set.matrix.is_unranked(rows[i], f)) documents.matrix.set(i, f, set.matrix.value(rows[i], f));
  return documents;
}

}  // namespace metafuse::fusion::adaboost_mh
