#include <algorithm>
#include <cmath>

#include "evaluation/measures/all.h"

// Precision interpolated at recall points: the best precision at that recall or beyond. Source: trec_eval. A
// recall point is a number of relevant documents: version 10 rounds point x relevant to the nearest, version
// 9 adds 0.9 and cuts.
namespace metafuse::evaluation::measures {

void interpolated_precision(const JudgedRanking& ranking, const MeasureParameters& parameters,
                            const Rules& rules, Values values) {
  std::fill(values.begin(), values.end(), 0.0);
  const auto relevant_count = static_cast<double>(ranking.relevant(rules.relevance_level));
  std::vector<double> best;  // best[n]: precision where n relevant documents are found, then beyond
  best.push_back(0.0);
  for (std::size_t i = 0; i < ranking.grades.size(); ++i)
    if (ranking.grades[i] >= rules.relevance_level)
      best.push_back(static_cast<double>(best.size()) / static_cast<double>(i + 1));
  for (std::size_t n = best.size() - 1; n-- > 0;) best[n] = std::max(best[n], best[n + 1]);
  for (std::size_t column = 0; column < parameters.values.size(); ++column) {
    const double point = parameters.values[column] * relevant_count;
    const double needed = rules.mode == Mode::trec9 ? std::floor(point + 0.9) : std::round(point);
    if (needed >= 0.0 && needed < static_cast<double>(best.size()))
      values[column] = best[static_cast<std::size_t>(needed)];
  }
}

void mean_interpolated_precision(const JudgedRanking& ranking, const MeasureParameters& parameters,
                                 const Rules& rules, Values values) {
  std::vector<double> points(parameters.values.size());
  interpolated_precision(ranking, parameters, rules, points);
  double sum = 0.0;
  for (std::size_t i = points.size(); i-- > 0;) sum += points[i];
  values[0] = points.empty() ? 0.0 : sum / static_cast<double>(points.size());
}

}  // namespace metafuse::evaluation::measures
