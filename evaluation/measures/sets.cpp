#include <algorithm>

#include "evaluation/measures/all.h"

// Measures of the retrieved set as a whole. Source: trec_eval (set_P, set_recall, set_relative_P, set_map,
// set_F, utility).
namespace metafuse::evaluation::measures {
namespace {

struct Table {
  double retrieved;
  double relevant;
  double both;
};

Table table_of(const JudgedRanking& ranking, const Rules& rules) {
  return {static_cast<double>(ranking.retrieved()),
          static_cast<double>(ranking.relevant(rules.relevance_level)),
          static_cast<double>(ranking.relevant_retrieved(rules.relevance_level))};
}

double share(double part, double whole) {
  return whole > 0.0 ? part / whole : 0.0;
}

}  // namespace

void set_precision(const JudgedRanking& ranking, const MeasureParameters&, const Rules& rules,
                   Values values) {
  const Table t = table_of(ranking, rules);
  values[0] = share(t.both, t.retrieved);
}

void set_relative_precision(const JudgedRanking& ranking, const MeasureParameters&, const Rules& rules,
                            Values values) {
  const Table t = table_of(ranking, rules);
  values[0] = share(t.both, std::min(t.retrieved, t.relevant));
}

void set_recall(const JudgedRanking& ranking, const MeasureParameters&, const Rules& rules, Values values) {
  const Table t = table_of(ranking, rules);
  values[0] = share(t.both, t.relevant);
}

void set_map(const JudgedRanking& ranking, const MeasureParameters&, const Rules& rules, Values values) {
  const Table t = table_of(ranking, rules);
  values[0] = share(t.both * t.both, t.retrieved * t.relevant);
}

void set_f(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules& rules,
           Values values) {
  const Table t = table_of(ranking, rules);
  const double precision_share = share(t.both, t.retrieved);
  const double recall_share = share(t.both, t.relevant);
  const double weight = parameters.values[0];
  values[0] = share((weight + 1.0) * precision_share * recall_share, weight * precision_share + recall_share);
}

void utility(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules& rules,
             Values values) {
  const Table t = table_of(ranking, rules);
  const auto& p = parameters.values;
  values[0] = p[0] * t.both + p[1] * (t.retrieved - t.both) + p[2] * (t.relevant - t.both) +
              p[3] * (rules.collection_size + t.both - t.retrieved - t.relevant);
}

}  // namespace metafuse::evaluation::measures
