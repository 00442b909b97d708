#include "lab/learners/adaboost_mh/training_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/contract.h"
#include "fusion/learners/common/feedback_grades.h"
#include "lab/learners/common/training.h"

namespace metafuse::lab::adaboost_mh {

Result<std::vector<double>> class_grades(const TrainingSet& set) {
  TRY_VOID(refuse_pair_options(set, "AdaBoost.MH"));
  auto grades = grade_scale(set);
  if (!grades) return grades;
  if (grades->size() > 20 || grades->back() > 40.0)
    return fail(Code::bad_data,
                fmt::format("{} grades up to {:g}; AdaBoost.MH allows at most 20 classes and grades up to "
                            "40: map them to fewer",
                            grades->size(), grades->back()));
  return grades;
}

Result<GradedDocuments> graded_documents(const TrainingSet& set, const std::vector<double>& grades) {
  GradedDocuments documents;
  std::vector<std::size_t> rows;
  for (const QueryRange& query : set.queries) {
    const std::size_t begin = rows.size();
    for (std::size_t d = query.begin; d < query.end; ++d) {
      if (!is_in_feedback(set, d)) continue;
      const double grade = feedback_grade(set, d);
      const auto place = std::find(grades.begin(), grades.end(), grade);
      if (place == grades.end())
        return fail(Code::bad_data,
                    fmt::format("query {} has a document of grade {:g}, which no training document has",
                                query.id, grade));
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

CalibrationSplit draw_split(const GradedDocuments& documents, double share, Random random) {
  const std::size_t count = documents.classes.size();
  require(count >= 2, "a split needs two documents");
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  random.shuffle(order);
  const double wanted = std::round(share * static_cast<double>(count));
  order.resize(std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, count - 1));
  std::sort(order.begin(), order.end());
  CalibrationSplit split;
  split.documents = std::move(order);
  split.left_out.assign(count, 0);
  for (const std::uint32_t document : split.documents) {
    split.left_out[document] = 1;
    split.classes.push_back(documents.classes[document]);
  }
  auto next = split.documents.begin();
  for (const RowRange& query : documents.queries) {
    const auto begin = next;
    while (next != split.documents.end() && *next < query.end) ++next;
    if (next != begin)
      split.queries.push_back({static_cast<std::size_t>(begin - split.documents.begin()),
                               static_cast<std::size_t>(next - split.documents.begin())});
  }
  return split;
}

}  // namespace metafuse::lab::adaboost_mh
