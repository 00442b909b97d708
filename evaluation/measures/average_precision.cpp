#include <algorithm>
#include <cmath>

#include "evaluation/measures/all.h"

// Average precision and its relatives. Sources: trec_eval (map, gm_map, map_cut); Robertson 2012 (yaap);
// Yilmaz, Aslam 2006 (infAP); Buckley, Voorhees 2004 (bpref).
namespace metafuse::evaluation::measures {
namespace {

constexpr double kGeometricFloor = 0.00001;   // trec_eval's MIN_GEO_MEAN
constexpr double kInferredEpsilon = 0.00001;  // trec_eval's INFAP_EPSILON

}  // namespace

void average_precision(const JudgedRanking& ranking, const MeasureParameters&, const Rules& rules,
                       Values values) {
  double sum = 0.0;
  double found = 0.0;
  for (std::size_t i = 0; i < ranking.grades.size(); ++i) {
    if (ranking.grades[i] < rules.relevance_level) continue;
    found += 1.0;
    sum += found / static_cast<double>(i + 1);
  }
  values[0] = found > 0.0 ? sum / static_cast<double>(ranking.relevant(rules.relevance_level)) : 0.0;
}

void log_average_precision(const JudgedRanking& ranking, const MeasureParameters& parameters,
                           const Rules& rules, Values values) {
  average_precision(ranking, parameters, rules, values);
  values[0] = std::log(std::max(values[0], kGeometricFloor));
}

void smoothed_log_odds(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules& rules,
                       Values values) {
  average_precision(ranking, parameters, rules, values);
  const auto relevant_count = static_cast<double>(ranking.relevant(rules.relevance_level));
  const double sum = values[0] * relevant_count;
  values[0] = std::log((1.0 + sum) / (1.0 + relevant_count - sum));
}

void average_precision_at(const JudgedRanking& ranking, const MeasureParameters& parameters,
                          const Rules& rules, Values values) {
  const auto relevant_count = static_cast<double>(ranking.relevant(rules.relevance_level));
  for (std::size_t column = 0; column < parameters.values.size(); ++column) {
    const auto end = std::min(static_cast<std::size_t>(parameters.values[column]), ranking.grades.size());
    double sum = 0.0;
    double found = 0.0;
    for (std::size_t i = 0; i < end; ++i) {
      if (ranking.grades[i] < rules.relevance_level) continue;
      found += 1.0;
      sum += found / static_cast<double>(i + 1);
    }
    values[column] = found > 0.0 ? sum / relevant_count : 0.0;
  }
}

void inferred_average_precision(const JudgedRanking& ranking, const MeasureParameters&, const Rules& rules,
                                Values values) {
  double sum = 0.0;
  double nonrelevant = 0.0;
  double found = 0.0;
  double pooled_unjudged = 0.0;
  for (std::size_t i = 0; i < ranking.grades.size(); ++i) {
    const int grade = ranking.grades[i];
    if (grade == kNotPooled) continue;
    if (grade == kUnjudged) {
      pooled_unjudged += 1.0;
    } else if (grade < rules.relevance_level) {
      nonrelevant += 1.0;
    } else {
      const auto above = static_cast<double>(i);
      if (i == 0) {
        sum += 1.0;
      } else {
        sum += 1.0 / (above + 1.0) +
               (above / (above + 1.0)) * ((found + nonrelevant + pooled_unjudged) / above) *
                   ((found + kInferredEpsilon) / (found + nonrelevant + 2 * kInferredEpsilon));
      }
      found += 1.0;
    }
  }
  const std::size_t relevant_count = ranking.relevant(rules.relevance_level);
  values[0] = relevant_count > 0 ? sum / static_cast<double>(relevant_count) : 0.0;
}

void binary_preference(const JudgedRanking& ranking, const MeasureParameters&, const Rules& rules,
                       Values values) {
  const std::size_t relevant_count = ranking.relevant(rules.relevance_level);
  const std::size_t nonrelevant_count =
      ranking.relevant(0) - ranking.relevant(std::max(0, rules.relevance_level));
  const auto bound = static_cast<double>(std::min(nonrelevant_count, relevant_count));
  double sum = 0.0;
  std::size_t nonrelevant = 0;
  for (const int grade : ranking.grades) {
    if (grade < 0) continue;
    if (grade < rules.relevance_level)
      ++nonrelevant;
    else
      sum += nonrelevant > 0 ? 1.0 - static_cast<double>(std::min(nonrelevant, relevant_count)) / bound : 1.0;
  }
  values[0] = relevant_count > 0 ? sum / static_cast<double>(relevant_count) : 0.0;
}

void log_binary_preference(const JudgedRanking& ranking, const MeasureParameters& parameters,
                           const Rules& rules, Values values) {
  binary_preference(ranking, parameters, rules, values);
  values[0] = std::log(std::max(values[0], kGeometricFloor));
}

}  // namespace metafuse::evaluation::measures
