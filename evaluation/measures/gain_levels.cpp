#include <algorithm>
#include <cmath>

#include "evaluation/measures/all.h"

// trec_eval's experimental gain measures, as its explanations define them: ndcg averaged at relevant
// documents (ndcg_rel) and where the ideal gain changes (Rndcg), gain discounted by what was missed so far
// (G, binG).
namespace metafuse::evaluation::measures {
namespace {

double discount(std::size_t position) {
  return std::log2(static_cast<double>(position + 1));
}

}  // namespace

void ndcg_rel(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules&,
              Values values) {
  const std::vector<GradeGain> gains = gains_of(ranking, parameters);
  IdealGains ideal_gains(gains);
  double dcg = 0.0;
  double ideal = 0.0;
  double sum = 0.0;
  double found = 0.0;
  double possible = 0.0;
  bool has_ideal = true;
  for (std::size_t i = 0; i < ranking.grades.size() || has_ideal; ++i) {
    const double ideal_gain = ideal_gains.next();
    has_ideal = ideal_gain > 0.0;
    if (has_ideal) {
      possible += 1.0;
      ideal += ideal_gain / discount(i + 1);
    }
    if (i >= ranking.grades.size()) continue;
    const double gain = gain_of(ranking.grades[i], gains);
    if (gain != 0.0) dcg += gain / discount(i + 1);
    if (gain > 0.0 && ideal > 0.0) {
      sum += dcg / ideal;
      found += 1.0;
    }
  }
  if (ideal > 0.0) sum += (possible - found) * dcg / ideal;
  values[0] = sum > 0.0 && possible > 0.0 ? sum / possible : 0.0;
}

void r_ndcg(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules& rules,
            Values values) {
  values[0] = 0.0;
  if (ranking.relevant(rules.relevance_level) == 0) return;
  const std::vector<GradeGain> gains = gains_of(ranking, parameters);
  IdealGains ideal_gains(gains);
  double dcg = 0.0;
  double ideal = 0.0;
  double sum = 0.0;
  double changes = 0.0;
  double last_gain = -1.0;
  std::size_t i = 0;
  const auto add_point = [&] {
    if (ideal <= 0.0) return;
    sum += dcg / ideal;
    changes += 1.0;
  };
  const auto add_result = [&] {
    const double gain = i < ranking.grades.size() ? gain_of(ranking.grades[i], gains) : 0.0;
    if (gain != 0.0) dcg += gain / discount(i + 1);
  };
  for (double gain = ideal_gains.next();; gain = ideal_gains.next(), ++i) {
    if (last_gain >= 0.0 && gain != last_gain) add_point();
    last_gain = gain;
    if (gain <= 0.0) break;
    add_result();
    ideal += gain / discount(i + 1);
  }
  if (i + 1 < ranking.grades.size()) {
    // The ideal gain fell to 0 inside the list: trec_eval's last point is the end of the list.
    for (; i < ranking.grades.size(); ++i) add_result();
    add_point();
  }
  values[0] = changes > 0.0 ? sum / changes : 0.0;
}

void normalized_gain(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules&,
                     Values values) {
  constexpr double kLeastCost = 1.0;
  const std::vector<GradeGain> gains = gains_of(ranking, parameters);
  IdealGains ideal_gains(gains);
  double sum = 0.0;
  double results = 0.0;
  double cost = 0.0;
  for (const int grade : ranking.grades) {
    const double gain = gain_of(grade, gains);
    results += gain;
    cost += std::max(ideal_gains.next(), kLeastCost);
    if (gain != 0.0) sum += gain / std::log2(2.0 + cost - results);
  }
  double ideal = 0.0;
  for (const GradeGain& item : gains)
    if (item.gain > 0.0) ideal += item.gain * static_cast<double>(item.count);
  values[0] = ideal > 0.0 && std::isfinite(sum) ? sum / ideal : 0.0;
}

void binary_gain(const JudgedRanking& ranking, const MeasureParameters&, const Rules& rules, Values values) {
  double sum = 0.0;
  double found = 0.0;
  for (std::size_t i = 0; i < ranking.grades.size(); ++i) {
    if (ranking.grades[i] < rules.relevance_level) continue;
    found += 1.0;
    sum += 1.0 / std::log2(static_cast<double>(3 + i) - found);
  }
  values[0] = found > 0.0 ? sum / static_cast<double>(ranking.relevant(rules.relevance_level)) : 0.0;
}

}  // namespace metafuse::evaluation::measures
