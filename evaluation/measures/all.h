#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "evaluation/measures/measure.h"

/// The functions that compute the measures of the table in measure_table.cpp; each file states its sources.
namespace metafuse::evaluation::measures {

using Values = std::span<double>;
using Compute = void(const MeasuredQuery&, Values);

// precision.cpp: counts, sets, precision and recall at cutoffs, average precision, interpolated precision
Compute retrieved, relevant, relevant_retrieved, judged_nonrelevant_retrieved, nothing;
Compute set_precision, set_relative_precision, set_recall, set_map, set_f, utility;
Compute precision, recall, relative_precision, success, r_precision, r_precision_multiples, unjudged, judged;
Compute average_precision, log_average_precision, smoothed_log_odds, average_precision_at;
Compute inferred_average_precision, binary_preference, log_binary_preference;
Compute interpolated_precision, mean_interpolated_precision;

// gain.cpp: gains by grade, and models of where a user stops
Compute ndcg, ndcg_at, ndcg_burges, mean_ndcg_burges, mean_ndcg, ndcg_rel, r_ndcg, normalized_gain,
    binary_gain;
Compute reciprocal_rank, rank_biased_precision, rank_biased_residual, expected_reciprocal_rank;

// preference.cpp: measures of Freund, Iyer, Schapire, Singer 2003
Compute average_rank, average_rank_loss, ranking_loss;
Compute expected_average_precision, expected_rank_of_top, expected_coverage;

/// The grades of the first documents, at most as many as there are.
inline std::span<const int> first_grades(const JudgedRanking& ranking, std::size_t count) {
  return std::span(ranking.grades).first(std::min(count, ranking.grades.size()));
}

/// The rank, from 1, of the best relevant document that was retrieved.
inline std::optional<double> rank_of_first_relevant(const MeasuredQuery& query) {
  const std::vector<int>& grades = query.ranking.grades;
  const auto first = std::ranges::find_if(grades, [&](int grade) { return query.is_relevant(grade); });
  if (first == grades.end()) return std::nullopt;
  return static_cast<double>(first - grades.begin() + 1);
}

/// Sets each value to value_at(cutoff), for a measure that takes whole cutoffs.
template <class ValueAt>
void at_each_cutoff(const MeasuredQuery& query, Values values, ValueAt value_at) {
  for (std::size_t column = 0; column < values.size(); ++column)
    values[column] = value_at(static_cast<std::size_t>(query.parameters.values[column]));
}

/// The gain of one grade, and how many judged documents have that grade.
struct GradeGain {
  int grade = 0;
  double gain = 0.0;
  std::size_t count = 0;
};

/// Ascending by grade: trec_eval's default gains (a grade's gain is the grade), overridden by the
/// `grade=gain` pairs.
std::vector<GradeGain> gains_of(const MeasuredQuery&);

/// The gain of a retrieved document of this grade; 0 for a grade that `gains` does not list.
/// in:   gains - ascending by grade
/// cost: O(log gains)
double gain_of(int grade, std::span<const GradeGain> gains);

/// Yields the gains of the ideal ranking, best first: the positive ones, then 0 without end.
class IdealGains {
 public:
  explicit IdealGains(std::span<const GradeGain> gains);
  double next();

 private:
  std::vector<GradeGain> gains_;  ///< ascending by gain
  std::size_t level_;
  std::size_t used_ = 0;
};

}  // namespace metafuse::evaluation::measures
