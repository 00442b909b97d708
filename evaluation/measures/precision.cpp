#include <algorithm>
#include <cmath>

#include "evaluation/measures/all.h"

// Precision and recall at cutoffs. Source: trec_eval 9 and 10 (P, recall, relative_P, success, Rprec,
// Rprec_mult, unj). The script of LETOR 3.0 leaves P@k undefined, which it averages as 0, for a query with
// fewer than k documents; those of LETOR 4.0 and MSLR count the holes as not relevant, as TREC does.
namespace metafuse::evaluation::measures {
namespace {

/// Calls give(column, relevant documents among the first k) for every cutoff k, ascending or not.
template <class Give>
void at_cutoffs(const JudgedRanking& ranking, const MeasureParameters& parameters, int level, Give give) {
  std::size_t at = 0;
  std::size_t found = 0;
  for (std::size_t column = 0; column < parameters.values.size(); ++column) {
    const auto cutoff = static_cast<std::size_t>(parameters.values[column]);
    if (column > 0 && parameters.values[column] < parameters.values[column - 1]) at = found = 0;
    for (const std::size_t end = std::min(cutoff, ranking.grades.size()); at < end; ++at)
      found += ranking.grades[at] >= level ? 1 : 0;
    give(column, cutoff, static_cast<double>(found));
  }
}

}  // namespace

void precision(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules& rules,
               Values values) {
  const bool is_zero_when_short = rules.mode == Mode::letor3;
  at_cutoffs(ranking, parameters, rules.relevance_level,
             [&](std::size_t column, std::size_t cutoff, double found) {
               const bool is_short = is_zero_when_short && ranking.grades.size() < cutoff;
               values[column] = is_short ? 0.0 : found / static_cast<double>(cutoff);
             });
}

void recall(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules& rules,
            Values values) {
  const auto relevant_count = static_cast<double>(ranking.relevant(rules.relevance_level));
  at_cutoffs(ranking, parameters, rules.relevance_level, [&](std::size_t column, std::size_t, double found) {
    values[column] = relevant_count > 0.0 ? found / relevant_count : 0.0;
  });
}

void relative_precision(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules& rules,
                        Values values) {
  const std::size_t relevant_count = ranking.relevant(rules.relevance_level);
  at_cutoffs(ranking, parameters, rules.relevance_level,
             [&](std::size_t column, std::size_t cutoff, double found) {
               const std::size_t possible = std::min(cutoff, relevant_count);
               values[column] = possible > 0 ? found / static_cast<double>(possible) : 0.0;
             });
}

void success(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules& rules,
             Values values) {
  at_cutoffs(ranking, parameters, rules.relevance_level, [&](std::size_t column, std::size_t, double found) {
    values[column] = found > 0.0 ? 1.0 : 0.0;
  });
}

void r_precision(const JudgedRanking& ranking, const MeasureParameters&, const Rules& rules, Values values) {
  const std::size_t relevant_count = ranking.relevant(rules.relevance_level);
  std::size_t found = 0;
  for (std::size_t i = 0; i < std::min(relevant_count, ranking.grades.size()); ++i)
    found += ranking.grades[i] >= rules.relevance_level ? 1 : 0;
  values[0] = relevant_count > 0 ? static_cast<double>(found) / static_cast<double>(relevant_count) : 0.0;
}

void r_precision_multiples(const JudgedRanking& ranking, const MeasureParameters& parameters,
                           const Rules& rules, Values values) {
  const auto relevant_count = static_cast<double>(ranking.relevant(rules.relevance_level));
  MeasureParameters cutoffs;
  for (const double multiple : parameters.values)
    cutoffs.values.push_back(std::floor(multiple * relevant_count + 0.9));
  at_cutoffs(ranking, cutoffs, rules.relevance_level,
             [&](std::size_t column, std::size_t cutoff, double found) {
               values[column] = cutoff > 0 ? found / static_cast<double>(cutoff) : 0.0;
             });
}

void unjudged(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules&,
              Values values) {
  for (std::size_t column = 0; column < parameters.values.size(); ++column) {
    const auto cutoff = static_cast<std::size_t>(parameters.values[column]);
    const auto end =
        ranking.grades.begin() + static_cast<std::ptrdiff_t>(std::min(cutoff, ranking.grades.size()));
    const auto count = std::count_if(ranking.grades.begin(), end, [](int grade) { return grade < 0; });
    values[column] = static_cast<double>(count) / static_cast<double>(cutoff);
  }
}

void judged(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules&, Values values) {
  for (std::size_t column = 0; column < parameters.values.size(); ++column) {
    const auto cutoff = std::min(static_cast<std::size_t>(parameters.values[column]), ranking.grades.size());
    const auto end = ranking.grades.begin() + static_cast<std::ptrdiff_t>(cutoff);
    const auto count = std::count_if(ranking.grades.begin(), end, [](int grade) { return grade >= 0; });
    values[column] = cutoff > 0 ? static_cast<double>(count) / static_cast<double>(cutoff) : 0.0;
  }
}

}  // namespace metafuse::evaluation::measures
