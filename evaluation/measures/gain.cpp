#include <algorithm>
#include <cmath>

#include "evaluation/measures/all.h"

// Normalised discounted cumulative gain in the forms in use:
// - trec_eval (Jarvelin, Kekalainen 2002): gain = grade, discount log2(1 + position); the ideal ranking is
// over all
//   judged documents of the query.
// - gdeval (TREC Web track): gain 2^grade - 1, discount log2(1 + position), cut at the query's k.
// - Burges et al. 2005 as the LETOR scripts print it: gain 2^grade - 1, discount 1 at position 1 and
// log2(position)
//   after, ideal over the documents of the file. LETOR 3.0 and 4.0 give NDCG@k 0 to a query with fewer than k
//   documents; the script of MSLR does not.
namespace metafuse::evaluation::measures {
namespace {

bool is_letor(Mode mode) {
  return mode == Mode::letor3 || mode == Mode::letor4 || mode == Mode::mslr;
}

double exponential_gain(int grade) {
  return grade > 0 ? std::exp2(grade) - 1.0 : 0.0;
}

double trec_discount(std::size_t position) {
  return std::log2(static_cast<double>(position + 1));
}

double burges_discount(std::size_t position) {
  return position == 1 ? 1.0 : std::log2(static_cast<double>(position));
}

/// Gains of the ideal ranking, best first, zeros left out.
std::vector<double> ideal_exponential_gains(const JudgedRanking& ranking, std::size_t depth) {
  std::vector<double> gains;
  for (std::size_t i = ranking.judged.size(); i-- > 0 && gains.size() < depth;) {
    const double gain = exponential_gain(ranking.judged[i].grade);
    if (gain > 0.0) gains.insert(gains.end(), std::min(ranking.judged[i].count, depth - gains.size()), gain);
  }
  return gains;
}

template <class Discount>
double exponential_ndcg(const JudgedRanking& ranking, std::size_t depth, Discount discount) {
  double sum = 0.0;
  for (std::size_t i = 0; i < std::min(depth, ranking.grades.size()); ++i)
    if (ranking.grades[i] > 0) sum += exponential_gain(ranking.grades[i]) / discount(i + 1);
  double ideal = 0.0;
  const std::vector<double> gains = ideal_exponential_gains(ranking, depth);
  for (std::size_t i = 0; i < gains.size(); ++i) ideal += gains[i] / discount(i + 1);
  return ideal > 0.0 ? sum / ideal : 0.0;
}

double letor_ndcg(const JudgedRanking& ranking, std::size_t depth, Mode mode) {
  if (mode != Mode::mslr && ranking.grades.size() < depth) return 0.0;
  return exponential_ndcg(ranking, depth, burges_discount);
}

double trec_ndcg(const JudgedRanking& ranking, std::span<const GradeGain> gains, std::size_t depth,
                 bool cut_ideal) {
  double sum = 0.0;
  for (std::size_t i = 0; i < std::min(depth, ranking.grades.size()); ++i) {
    const double gain = gain_of(ranking.grades[i], gains);
    if (gain != 0.0) sum += gain / trec_discount(i + 1);
  }
  double ideal = 0.0;
  IdealGains ideal_gains(gains);
  for (std::size_t i = 0; !cut_ideal || i < depth; ++i) {
    const double gain = ideal_gains.next();
    if (gain <= 0.0) break;
    ideal += gain / trec_discount(i + 1);
  }
  return ideal > 0.0 ? sum / ideal : 0.0;
}

double ndcg_to(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules& rules,
               std::size_t depth, bool cut_ideal) {
  if (is_letor(rules.mode)) return letor_ndcg(ranking, depth, rules.mode);
  if (rules.mode == Mode::gdeval) return exponential_ndcg(ranking, depth, trec_discount);
  return trec_ndcg(ranking, gains_of(ranking, parameters), depth, cut_ideal);
}

}  // namespace

void ndcg(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules& rules,
          Values values) {
  const std::size_t depth = rules.mode == Mode::gdeval ? std::max(ranking.grades.size(), ranking.relevant(0))
                                                       : ranking.grades.size();
  values[0] = depth > 0 ? ndcg_to(ranking, parameters, rules, depth, false) : 0.0;
}

void ndcg_at(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules& rules,
             Values values) {
  for (std::size_t column = 0; column < parameters.values.size(); ++column)
    values[column] = ndcg_to(ranking, {}, rules, static_cast<std::size_t>(parameters.values[column]), true);
}

void ndcg_burges(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules&,
                 Values values) {
  for (std::size_t column = 0; column < parameters.values.size(); ++column)
    values[column] =
        exponential_ndcg(ranking, static_cast<std::size_t>(parameters.values[column]), burges_discount);
}

void mean_ndcg_burges(const JudgedRanking& ranking, const MeasureParameters&, const Rules&, Values values) {
  const std::vector<double> gains = ideal_exponential_gains(ranking, ranking.grades.size());
  double dcg = 0.0;
  double ideal = 0.0;
  double sum = 0.0;
  for (std::size_t i = 0; i < ranking.grades.size(); ++i) {
    dcg += exponential_gain(ranking.grades[i]) / burges_discount(i + 1);
    if (i < gains.size()) ideal += gains[i] / burges_discount(i + 1);
    if (ideal > 0.0) sum += dcg / ideal;
  }
  values[0] = ranking.grades.empty() ? 0.0 : sum / static_cast<double>(ranking.grades.size());
}

void mean_ndcg(const JudgedRanking& ranking, const MeasureParameters& parameters, const Rules& rules,
               Values values) {
  mean_ndcg_burges(ranking, parameters, rules, values);
}

}  // namespace metafuse::evaluation::measures
