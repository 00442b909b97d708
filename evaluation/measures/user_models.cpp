#include <algorithm>
#include <cmath>

#include "evaluation/measures/all.h"

// Measures that model where a user stops. Sources: trec_eval (recip_rank, rbp, rbp_resid); Moffat, Zobel
// 2008; Chapelle et al. 2009 (ERR). gdeval fixes ERR's top grade at 4 whatever the judgments hold.
namespace metafuse::evaluation::measures {
namespace {

double persistence_of(const MeasureParameters& parameters) {
  for (const auto& [name, value] : parameters.pairs)
    if (name == "p") return value;
  return 0.9;
}

}  // namespace

void reciprocal_rank(const JudgedRanking& ranking, const MeasureParameters&, const Rules& rules,
                     Values values) {
  const auto first = std::find_if(ranking.grades.begin(), ranking.grades.end(),
                                  [&](int grade) { return grade >= rules.relevance_level; });
  values[0] =
      first == ranking.grades.end() ? 0.0 : 1.0 / static_cast<double>(first - ranking.grades.begin() + 1);
}

void rank_biased_precision(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules&,
                           Values values) {
  std::vector<GradeGain> gains = gains_of(ranking, parameters);
  const double top = gains.empty() ? 0.0 : gains.back().gain;
  const double bottom = gains.empty() ? 0.0 : std::min(0.0, gains.front().gain);
  if (top > 1.0 || bottom < 0.0)
    for (GradeGain& item : gains) item.gain = (item.gain - bottom) / (top - bottom);
  const double persistence = persistence_of(parameters);
  double sum = 0.0;
  double weight = 1.0;
  for (const int grade : ranking.grades) {
    sum += gain_of(grade, gains) * weight;
    weight *= persistence;
  }
  values[0] = (1.0 - persistence) * sum;
}

void rank_biased_residual(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules&,
                          Values values) {
  const double persistence = persistence_of(parameters);
  double sum = 0.0;
  double weight = 1.0;
  for (const int grade : ranking.grades) {
    if (grade < 0) sum += weight;
    weight *= persistence;
  }
  values[0] = sum > 0.0 ? weight + (1.0 - persistence) * sum : 0.0;
}

void expected_reciprocal_rank(const JudgedRanking& ranking, const MeasureParameters& parameters,
                              const Rules& rules, Values values) {
  const double scale = std::exp2(rules.mode == Mode::gdeval ? 4 : std::max(1, rules.top_grade));
  for (std::size_t column = 0; column < parameters.values.size(); ++column) {
    const auto end = std::min(static_cast<std::size_t>(parameters.values[column]), ranking.grades.size());
    double sum = 0.0;
    double goes_on = 1.0;
    for (std::size_t i = 0; i < end; ++i) {
      const double stops = ranking.grades[i] > 0 ? (std::exp2(ranking.grades[i]) - 1.0) / scale : 0.0;
      sum += stops * goes_on / static_cast<double>(i + 1);
      goes_on *= 1.0 - stops;
    }
    values[column] = sum;
  }
}

}  // namespace metafuse::evaluation::measures
