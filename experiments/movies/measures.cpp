#include "experiments/movies/measures.h"

#include <algorithm>

#include "core/contract.h"
#include "evaluation/measures/judged_ranking.h"
#include "evaluation/measures/measure.h"

namespace metafuse::experiments::movies {

Values measure(const std::vector<double>& scores, const std::vector<double>& grades) {
  static const auto set = evaluation::parse_measures("ranking_loss,expected_ap,prot,coverage");
  require(set.has_value() && !grades.empty(), "the movie measures exist and there are movies");
  evaluation::Rules rules;
  rules.relevance_level = static_cast<int>(*std::max_element(grades.begin(), grades.end()));
  // A score is good to about 15 digits: what differs by less is a tie, as in training.
  const std::vector<std::uint32_t> order = evaluation::order_by_score(scores);
  const std::vector<double> values =
      evaluation::evaluate(*set, evaluation::judged_ranking(grades, order, scores), rules);
  Values result{};
  std::copy_n(values.begin(), kMeasures, result.begin());
  return result;
}

double gain(Measure measure, double better, double worse) {
  return measure == kDisagreement ? worse - better : better - worse;
}

}  // namespace metafuse::experiments::movies
