#include <algorithm>
#include <cmath>
#include <numeric>

#include "evaluation/measures/all.h"

// Counts of trec_eval: num_ret, num_rel, num_rel_ret, num_nonrel_judged_ret. They are summed over
// the queries.
namespace metafuse::evaluation::measures {

void retrieved(const MeasuredQuery& query, Values values) {
  values[0] = static_cast<double>(query.ranking.retrieved());
}

void relevant(const MeasuredQuery& query, Values values) {
  values[0] = static_cast<double>(query.relevant());
}

void relevant_retrieved(const MeasuredQuery& query, Values values) {
  values[0] = static_cast<double>(query.ranking.relevant_retrieved(query.rules.relevance_level));
}

void judged_nonrelevant_retrieved(const MeasuredQuery& query, Values values) {
  values[0] = static_cast<double>(std::ranges::count_if(
      query.ranking.grades, [&](int grade) { return grade >= 0 && !query.is_relevant(grade); }));
}

void nothing(const MeasuredQuery&, Values values) {
  values[0] = 0.0;
}

// Measures of the retrieved set as a whole. Source: trec_eval (set_P, set_recall, set_relative_P, set_map,
// set_F, utility).

namespace {

struct Table {
  double retrieved;
  double relevant;
  double both;
};

Table table_of(const MeasuredQuery& query) {
  return {static_cast<double>(query.ranking.retrieved()), static_cast<double>(query.relevant()),
          static_cast<double>(query.ranking.relevant_retrieved(query.rules.relevance_level))};
}

double share(double part, double whole) {
  return whole > 0.0 ? part / whole : 0.0;
}

}  // namespace

void set_precision(const MeasuredQuery& query, Values values) {
  const Table t = table_of(query);
  values[0] = share(t.both, t.retrieved);
}

void set_relative_precision(const MeasuredQuery& query, Values values) {
  const Table t = table_of(query);
  values[0] = share(t.both, std::min(t.retrieved, t.relevant));
}

void set_recall(const MeasuredQuery& query, Values values) {
  const Table t = table_of(query);
  values[0] = share(t.both, t.relevant);
}

void set_map(const MeasuredQuery& query, Values values) {
  const Table t = table_of(query);
  values[0] = share(t.both * t.both, t.retrieved * t.relevant);
}

void set_f(const MeasuredQuery& query, Values values) {
  const Table t = table_of(query);
  const double precision_share = share(t.both, t.retrieved);
  const double recall_share = share(t.both, t.relevant);
  const double weight = query.parameters.values[0];
  values[0] = share((weight + 1.0) * precision_share * recall_share, weight * precision_share + recall_share);
}

void utility(const MeasuredQuery& query, Values values) {
  const Table t = table_of(query);
  const auto& p = query.parameters.values;
  values[0] = p[0] * t.both + p[1] * (t.retrieved - t.both) + p[2] * (t.relevant - t.both) +
              p[3] * (query.rules.collection_size + t.both - t.retrieved - t.relevant);
}

// Precision and recall at cutoffs. Source: trec_eval 9 and 10 (P, recall, relative_P, success, Rprec,
// Rprec_mult, unj). The script of LETOR 3.0 leaves P@k undefined for a query with fewer than k documents and
// averages it as 0; those of LETOR 4.0 and MSLR count the missing documents as not relevant, as TREC does.

namespace {

/// Calls give(column, relevant documents among the first k) for every cutoff k, whatever their order.
template <class Give>
void at_cutoffs(const MeasuredQuery& query, const std::vector<double>& cutoffs, Give give) {
  const std::vector<int>& grades = query.ranking.grades;
  std::size_t at = 0;
  std::size_t found = 0;
  for (std::size_t column = 0; column < cutoffs.size(); ++column) {
    const auto cutoff = static_cast<std::size_t>(cutoffs[column]);
    if (column > 0 && cutoffs[column] < cutoffs[column - 1]) at = found = 0;
    for (const std::size_t end = std::min(cutoff, grades.size()); at < end; ++at)
      found += query.is_relevant(grades[at]) ? 1 : 0;
    give(column, cutoff, static_cast<double>(found));
  }
}

double count_unjudged(std::span<const int> grades) {
  return static_cast<double>(std::ranges::count_if(grades, [](int grade) { return grade < 0; }));
}

}  // namespace

void precision(const MeasuredQuery& query, Values values) {
  const bool is_zero_when_short = query.rules.mode == Mode::letor3;
  at_cutoffs(query, query.parameters.values, [&](std::size_t column, std::size_t cutoff, double found) {
    const bool is_short = is_zero_when_short && query.ranking.grades.size() < cutoff;
    values[column] = is_short ? 0.0 : found / static_cast<double>(cutoff);
  });
}

void recall(const MeasuredQuery& query, Values values) {
  const auto relevant_count = static_cast<double>(query.relevant());
  at_cutoffs(query, query.parameters.values, [&](std::size_t column, std::size_t, double found) {
    values[column] = share(found, relevant_count);
  });
}

void relative_precision(const MeasuredQuery& query, Values values) {
  const std::size_t relevant_count = query.relevant();
  at_cutoffs(query, query.parameters.values, [&](std::size_t column, std::size_t cutoff, double found) {
    values[column] = share(found, static_cast<double>(std::min(cutoff, relevant_count)));
  });
}

void success(const MeasuredQuery& query, Values values) {
  at_cutoffs(query, query.parameters.values, [&](std::size_t column, std::size_t, double found) {
    values[column] = found > 0.0 ? 1.0 : 0.0;
  });
}

void r_precision(const MeasuredQuery& query, Values values) {
  const std::size_t relevant_count = query.relevant();
  const auto found = std::ranges::count_if(first_grades(query.ranking, relevant_count),
                                           [&](int grade) { return query.is_relevant(grade); });
  values[0] = share(static_cast<double>(found), static_cast<double>(relevant_count));
}

void r_precision_multiples(const MeasuredQuery& query, Values values) {
  const auto relevant_count = static_cast<double>(query.relevant());
  std::vector<double> cutoffs;
  for (const double multiple : query.parameters.values)
    cutoffs.push_back(std::floor(multiple * relevant_count + 0.9));
  at_cutoffs(query, cutoffs, [&](std::size_t column, std::size_t cutoff, double found) {
    values[column] = share(found, static_cast<double>(cutoff));
  });
}

void unjudged(const MeasuredQuery& query, Values values) {
  at_each_cutoff(query, values, [&](std::size_t cutoff) {
    return count_unjudged(first_grades(query.ranking, cutoff)) / static_cast<double>(cutoff);
  });
}

void judged(const MeasuredQuery& query, Values values) {
  at_each_cutoff(query, values, [&](std::size_t cutoff) {
    const auto grades = first_grades(query.ranking, cutoff);
    const auto count = static_cast<double>(grades.size());
    return share(count - count_unjudged(grades), count);
  });
}

// Average precision and its relatives. Sources: trec_eval (map, gm_map, map_cut); Robertson 2012 (yaap);
// Yilmaz, Aslam 2006 (infAP); Buckley, Voorhees 2004 (bpref).

namespace {

constexpr double kGeometricFloor = 0.00001;   // trec_eval's MIN_GEO_MEAN
constexpr double kInferredEpsilon = 0.00001;  // trec_eval's INFAP_EPSILON

double average_precision_of(const MeasuredQuery& query, std::span<const int> grades) {
  double sum = 0.0;
  double found = 0.0;
  for (std::size_t i = 0; i < grades.size(); ++i) {
    if (!query.is_relevant(grades[i])) continue;
    found += 1.0;
    sum += found / static_cast<double>(i + 1);
  }
  return found > 0.0 ? sum / static_cast<double>(query.relevant()) : 0.0;
}

}  // namespace

void average_precision(const MeasuredQuery& query, Values values) {
  values[0] = average_precision_of(query, query.ranking.grades);
}

void log_average_precision(const MeasuredQuery& query, Values values) {
  average_precision(query, values);
  values[0] = std::log(std::max(values[0], kGeometricFloor));
}

void smoothed_log_odds(const MeasuredQuery& query, Values values) {
  average_precision(query, values);
  const auto relevant_count = static_cast<double>(query.relevant());
  const double sum = values[0] * relevant_count;
  values[0] = std::log((1.0 + sum) / (1.0 + relevant_count - sum));
}

void average_precision_at(const MeasuredQuery& query, Values values) {
  at_each_cutoff(query, values, [&](std::size_t cutoff) {
    return average_precision_of(query, first_grades(query.ranking, cutoff));
  });
}

void inferred_average_precision(const MeasuredQuery& query, Values values) {
  double sum = 0.0;
  double nonrelevant = 0.0;
  double found = 0.0;
  double pooled_unjudged = 0.0;
  for (std::size_t i = 0; i < query.ranking.grades.size(); ++i) {
    const int grade = query.ranking.grades[i];
    if (grade == kNotPooled) continue;
    if (grade == kUnjudged) {
      pooled_unjudged += 1.0;
    } else if (grade < query.rules.relevance_level) {
      nonrelevant += 1.0;
    } else {
      const auto above = static_cast<double>(i);
      const double precision_above =
          i == 0 ? 0.0
                 : (above / (above + 1.0)) * ((found + nonrelevant + pooled_unjudged) / above) *
                       ((found + kInferredEpsilon) / (found + nonrelevant + 2 * kInferredEpsilon));
      sum += 1.0 / (above + 1.0) + precision_above;
      found += 1.0;
    }
  }
  values[0] = share(sum, static_cast<double>(query.relevant()));
}

void binary_preference(const MeasuredQuery& query, Values values) {
  const JudgedRanking& ranking = query.ranking;
  const std::size_t relevant_count = query.relevant();
  const std::size_t nonrelevant_count =
      ranking.relevant(0) - ranking.relevant(std::max(0, query.rules.relevance_level));
  const auto bound = static_cast<double>(std::min(nonrelevant_count, relevant_count));
  double sum = 0.0;
  std::size_t nonrelevant = 0;
  for (const int grade : ranking.grades) {
    if (grade < 0) continue;
    if (grade < query.rules.relevance_level)
      ++nonrelevant;
    else
      sum += nonrelevant > 0 ? 1.0 - static_cast<double>(std::min(nonrelevant, relevant_count)) / bound : 1.0;
  }
  values[0] = share(sum, static_cast<double>(relevant_count));
}

void log_binary_preference(const MeasuredQuery& query, Values values) {
  binary_preference(query, values);
  values[0] = std::log(std::max(values[0], kGeometricFloor));
}

// Interpolated precision at recall points: the best precision at that recall or a higher one. Source:
// trec_eval. A recall point is converted to a number of relevant documents: version 10 rounds point x
// relevant to the nearest whole number, version 9 adds 0.9 and truncates.

void interpolated_precision(const MeasuredQuery& query, Values values) {
  std::fill(values.begin(), values.end(), 0.0);
  const auto relevant_count = static_cast<double>(query.relevant());
  std::vector<double> best;  // best[n]: precision at the n-th relevant document, then the best from there on
  best.push_back(0.0);
  for (std::size_t i = 0; i < query.ranking.grades.size(); ++i)
    if (query.is_relevant(query.ranking.grades[i]))
      best.push_back(static_cast<double>(best.size()) / static_cast<double>(i + 1));
  for (std::size_t n = best.size() - 1; n-- > 0;) best[n] = std::max(best[n], best[n + 1]);
  for (std::size_t column = 0; column < query.parameters.values.size(); ++column) {
    const double point = query.parameters.values[column] * relevant_count;
    const double needed = query.rules.mode == Mode::trec9 ? std::floor(point + 0.9) : std::round(point);
    if (needed >= 0.0 && needed < static_cast<double>(best.size()))
      values[column] = best[static_cast<std::size_t>(needed)];
  }
}

void mean_interpolated_precision(const MeasuredQuery& query, Values values) {
  std::vector<double> points(query.parameters.values.size());
  interpolated_precision(query, points);
  values[0] = share(std::accumulate(points.rbegin(), points.rend(), 0.0), static_cast<double>(points.size()));
}

}  // namespace metafuse::evaluation::measures
