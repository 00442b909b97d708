#include "evaluation/measures/all.h"

// Counts of trec_eval: num_ret, num_rel, num_rel_ret, num_nonrel_judged_ret. The summary is the sum.
namespace metafuse::evaluation::measures {

void retrieved(const JudgedRanking& ranking, const MeasureParameters&, const Rules&, Values values) {
  values[0] = static_cast<double>(ranking.retrieved());
}

void relevant(const JudgedRanking& ranking, const MeasureParameters&, const Rules& rules, Values values) {
  values[0] = static_cast<double>(ranking.relevant(rules.relevance_level));
}

void relevant_retrieved(const JudgedRanking& ranking, const MeasureParameters&, const Rules& rules,
                        Values values) {
  values[0] = static_cast<double>(ranking.relevant_retrieved(rules.relevance_level));
}

void judged_nonrelevant_retrieved(const JudgedRanking& ranking, const MeasureParameters&, const Rules& rules,
                                  Values values) {
  std::size_t count = 0;
  for (const int grade : ranking.grades) count += grade >= 0 && grade < rules.relevance_level ? 1 : 0;
  values[0] = static_cast<double>(count);
}

void nothing(const JudgedRanking&, const MeasureParameters&, const Rules&, Values values) {
  values[0] = 0.0;
}

}  // namespace metafuse::evaluation::measures
