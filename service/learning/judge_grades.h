#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "service/store/searches.h"
#include "service/store/store.h"

// Whose judgments count. A judge is a person, known by an API key, or a language model. Judgments of both
// kinds lie in one table; whoever reads them says whose are wanted, and gets people's by default.

namespace metafuse::service {

/// Language models grade 0 (not relevant) to this.
inline constexpr int kBestModelGrade = 3;

/// The judge's name of a language model.
std::string model_judge(std::string_view model);
bool is_model_judge(std::string_view judge);
/// The name of a language model, which may also be given as its judge's.
std::string_view model_name(std::string_view name);

/// Which judgments become training data. People's always count unless `is_only`.
struct JudgeChoice {
  std::string model;           ///< a language model whose judgments count, too; empty: none
  double weight = 0.3;         ///< of a query that only the model judged, in relation to people's queries
  bool is_only = false;        ///< only the model's judgments count
  bool is_calibrated = false;  ///< the model's grades are read as its comparison with people's grades says

  friend bool operator==(const JudgeChoice&, const JudgeChoice&) = default;
};

/// The queries with the judgments of people; queries without any are left out. `search` is the one that
/// people judged last.
std::vector<JudgedQuery> of_people(std::vector<JudgedQuery> queries);
/// The same with the judgments of one judge.
std::vector<JudgedQuery> of_judge(std::vector<JudgedQuery> queries, std::string_view judge);

/// The queries of a domain that people judged, with their judgments only.
Result<std::vector<JudgedQuery>> judged_by_people(Store& store, std::string_view domain);

/// The judges that are language models, sorted.
std::vector<std::string> model_judges(const std::vector<JudgedQuery>& queries);

/// One grade per document: the lower median of the judges' grades.
std::map<std::string, int> grades_of(const JudgedQuery& query);

/// The position of a query among queries that are sorted by their digests; the number of queries if it is
/// not there.
std::size_t position_of(const std::vector<JudgedQuery>& queries, std::string_view query);

/// The grades that people (their lower median) and a model gave to one document.
struct GradePair {
  std::size_t query = 0;  ///< position among people's queries
  int people = 0;
  int model = 0;
};

/// The pairs of all documents that both judged.
///
/// in: people, model - of of_people() and of_judge()
std::vector<GradePair> common_grades(const std::vector<JudgedQuery>& people,
                                     const std::vector<JudgedQuery>& model);

/// A model's grade on a scale from 0 to people's best grade: the nearest one.
int on_scale(int model_grade, int best);

/// How a model's grades are to be read: a confusion matrix, and the grade to be expected from people for
/// each grade of the model.
struct GradeReading {
  static constexpr std::size_t kGrades = kBestModelGrade + 1;

  int best = kBestModelGrade;                              ///< the best grade that people gave
  std::array<std::vector<std::size_t>, kGrades> counts{};  ///< by the model's grade, then by people's
  std::array<double, kGrades> expected{};  ///< on people's scale, never falling from one grade to the next
  std::array<double, kGrades> learned{};   ///< the same stretched to 0 to `best`: what training takes

  /// Whether the model's grades say anything about people's.
  bool is_informative() const { return expected.back() - expected.front() > 1e-9; }
};

/// The reading that follows from common grades. Each row of the confusion matrix has a Dirichlet prior of two
/// pseudo-judgments: one for the grade that on_scale() gives, and one spread over all grades. So without
/// common grades the model is believed, and each of them moves the reading. Where a better grade would be
/// read as worse than a lower one, both get their mean.
///
/// source: Dawid, Skene 1979 for the matrix; Ayer et al. 1955 for the means
GradeReading read_grades(std::span<const GradePair> pairs);

}  // namespace metafuse::service
