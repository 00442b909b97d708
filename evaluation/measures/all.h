#pragma once

#include <span>

#include "evaluation/measures/measure.h"

/// The functions behind the table of measures; each file states its sources.
namespace metafuse::evaluation::measures {

using Values = std::span<double>;

// counts.cpp
void retrieved(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void relevant(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void relevant_retrieved(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void judged_nonrelevant_retrieved(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void nothing(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);

// precision.cpp
void precision(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void recall(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void relative_precision(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void success(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void r_precision(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void r_precision_multiples(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void unjudged(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void judged(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);

// average_precision.cpp
void average_precision(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void log_average_precision(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void smoothed_log_odds(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void average_precision_at(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void inferred_average_precision(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void binary_preference(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void log_binary_preference(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);

// interpolated_precision.cpp
void interpolated_precision(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void mean_interpolated_precision(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);

// gain.cpp
void ndcg(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void ndcg_at(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void ndcg_burges(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void mean_ndcg_burges(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void mean_ndcg(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);

// gain_levels.cpp
void ndcg_rel(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void r_ndcg(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void normalized_gain(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void binary_gain(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);

// sets.cpp
void set_precision(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void set_relative_precision(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void set_recall(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void set_map(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void set_f(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void utility(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);

// user_models.cpp
void reciprocal_rank(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void rank_biased_precision(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void rank_biased_residual(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void expected_reciprocal_rank(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);

// preference.cpp
void average_rank(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void average_rank_loss(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void ranking_loss(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void expected_average_precision(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void expected_rank_of_top(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);
void expected_coverage(const JudgedRanking&, const MeasureParameters&, const Rules&, Values);

// gains_by_grade.cpp: shared by the gain measures
/// What each grade is worth, and how many judged documents have it.
struct GradeGain {
  int grade = 0;
  double gain = 0.0;
  std::size_t count = 0;
};

/// Ascending by gain: trec_eval's default (a grade is worth itself) with the `grade=gain` pairs over it.
std::vector<GradeGain> gains_of(const JudgedRanking&, const MeasureParameters&);

/// What a retrieved document of this grade is worth, 0 when nothing says so.
double gain_of(int grade, std::span<const GradeGain> gains);

/// Walks over the gains of the ideal ranking, best first: the positive ones, then 0 for ever.
class IdealGains {
 public:
  explicit IdealGains(std::span<const GradeGain> gains) : gains_(gains), level_(gains.size()) {}
  double next();

 private:
  std::span<const GradeGain> gains_;
  std::size_t level_;
  std::size_t used_ = 0;
};

}  // namespace metafuse::evaluation::measures
