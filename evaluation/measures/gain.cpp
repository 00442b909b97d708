#include <algorithm>
#include <cmath>

#include "core/number.h"
#include "evaluation/measures/all.h"
#include "evaluation/measures/discounted_gain.h"

// trec_eval's experimental gain measures, as its explanations define them: ndcg averaged over the relevant
// documents (ndcg_rel), ndcg averaged over the ranks at which the ideal gain changes (Rndcg), and gain
// discounted by the gain missed so far (G, binG).
namespace metafuse::evaluation::measures {
void ndcg_rel(const MeasuredQuery& query, Values values) {
  const JudgedRanking& ranking = query.ranking;
  const std::vector<GradeGain> gains = gains_of(query);
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
      ideal += ideal_gain / log_discount(i + 1);
    }
    if (i >= ranking.grades.size()) continue;
    const double gain = gain_of(ranking.grades[i], gains);
    if (gain != 0.0) dcg += gain / log_discount(i + 1);
    if (gain > 0.0 && ideal > 0.0) {
      sum += dcg / ideal;
      found += 1.0;
    }
  }
  if (ideal > 0.0) sum += (possible - found) * dcg / ideal;
  values[0] = sum > 0.0 && possible > 0.0 ? sum / possible : 0.0;
}

void r_ndcg(const MeasuredQuery& query, Values values) {
  const JudgedRanking& ranking = query.ranking;
  values[0] = 0.0;
  if (query.relevant() == 0) return;
  const std::vector<GradeGain> gains = gains_of(query);
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
    if (gain != 0.0) dcg += gain / log_discount(i + 1);
  };
  for (double gain = ideal_gains.next();; gain = ideal_gains.next(), ++i) {
    if (last_gain >= 0.0 && gain != last_gain) add_point();
    last_gain = gain;
    if (gain <= 0.0) break;
    add_result();
    ideal += gain / log_discount(i + 1);
  }
  if (i + 1 < ranking.grades.size()) {
    // The ideal gain fell to 0 within the list; trec_eval's last point is then the end of the list.
    for (; i < ranking.grades.size(); ++i) add_result();
    add_point();
  }
  values[0] = changes > 0.0 ? sum / changes : 0.0;
}

void normalized_gain(const MeasuredQuery& query, Values values) {
  constexpr double kLeastCost = 1.0;
  const std::vector<GradeGain> gains = gains_of(query);
  IdealGains ideal_gains(gains);
  double sum = 0.0;
  double results = 0.0;
  double cost = 0.0;
  for (const int grade : query.ranking.grades) {
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

void binary_gain(const MeasuredQuery& query, Values values) {
  double sum = 0.0;
  double found = 0.0;
  for (std::size_t i = 0; i < query.ranking.grades.size(); ++i) {
    if (!query.is_relevant(query.ranking.grades[i])) continue;
    found += 1.0;
    sum += 1.0 / std::log2(static_cast<double>(3 + i) - found);
  }
  values[0] = found > 0.0 ? sum / static_cast<double>(query.relevant()) : 0.0;
}

}  // namespace metafuse::evaluation::measures

// Normalised discounted cumulative gain in the forms in use:
// - trec_eval (Jarvelin, Kekalainen 2002): gain = grade, discount log2(1 + position); the ideal ranking is
//   over all judged documents of the query.
// - gdeval (TREC Web track): gain 2^grade - 1, discount log2(1 + position), cut off at the query's k.
// - Burges et al. 2005 as printed by the LETOR scripts: gain 2^grade - 1, discount 1 at position 1 and
//   log2(position) after it, ideal ranking over the documents of the file. In LETOR 3.0 and 4.0, NDCG@k is 0
//   for a query with fewer than k documents; in MSLR's script it is not.
namespace metafuse::evaluation::measures {
namespace {

bool is_letor(Mode mode) {
  return mode == Mode::letor3 || mode == Mode::letor4 || mode == Mode::mslr;
}

/// Gains of the ideal ranking, best first, without the zeros.
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
    if (gain != 0.0) sum += gain / log_discount(i + 1);
  }
  double ideal = 0.0;
  IdealGains ideal_gains(gains);
  for (std::size_t i = 0; !cut_ideal || i < depth; ++i) {
    const double gain = ideal_gains.next();
    if (gain <= 0.0) break;
    ideal += gain / log_discount(i + 1);
  }
  return ideal > 0.0 ? sum / ideal : 0.0;
}

double ndcg_to(const MeasuredQuery& query, std::size_t depth, bool cut_ideal) {
  const Mode mode = query.rules.mode;
  if (is_letor(mode)) return letor_ndcg(query.ranking, depth, mode);
  if (mode == Mode::gdeval) return exponential_ndcg(query.ranking, depth, log_discount);
  return trec_ndcg(query.ranking, gains_of(query), depth, cut_ideal);
}

}  // namespace

void ndcg(const MeasuredQuery& query, Values values) {
  const JudgedRanking& ranking = query.ranking;
  const std::size_t depth = query.rules.mode == Mode::gdeval
                                ? std::max(ranking.grades.size(), ranking.relevant(0))
                                : ranking.grades.size();
  values[0] = depth > 0 ? ndcg_to(query, depth, false) : 0.0;
}

void ndcg_at(const MeasuredQuery& query, Values values) {
  for (std::size_t column = 0; column < query.parameters.values.size(); ++column)
    values[column] = ndcg_to({query.ranking, {}, query.rules},
                             static_cast<std::size_t>(query.parameters.values[column]), true);
}

void ndcg_burges(const MeasuredQuery& query, Values values) {
  for (std::size_t column = 0; column < query.parameters.values.size(); ++column)
    values[column] = exponential_ndcg(
        query.ranking, static_cast<std::size_t>(query.parameters.values[column]), burges_discount);
}

void mean_ndcg_burges(const MeasuredQuery& query, Values values) {
  const JudgedRanking& ranking = query.ranking;
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

void mean_ndcg(const MeasuredQuery& query, Values values) {
  mean_ndcg_burges(query, values);
}

std::vector<GradeGain> gains_of(const MeasuredQuery& query) {
  std::vector<GradeGain> gains;
  for (const GradeCount& item : query.ranking.judged)
    if (item.grade >= 0) gains.push_back({item.grade, static_cast<double>(item.grade), item.count});
  for (const auto& [name, gain] : query.parameters.pairs) {
    std::int64_t grade = 0;
    if (!to_integer(name, grade)) continue;
    const auto at =
        std::find_if(gains.begin(), gains.end(), [&](const GradeGain& g) { return g.grade == grade; });
    if (at != gains.end())
      at->gain = gain;
    else
      gains.push_back({static_cast<int>(grade), gain, 0});
  }
  std::stable_sort(gains.begin(), gains.end(), [](const auto& a, const auto& b) { return a.gain < b.gain; });
  return gains;
}

double gain_of(int grade, std::span<const GradeGain> gains) {
  for (const GradeGain& item : gains)
    if (item.grade == grade) return item.gain;
  return 0.0;
}

double IdealGains::next() {
  while (level_ > 0 && used_ >= gains_[level_ - 1].count) {
    --level_;
    used_ = 0;
  }
  if (level_ == 0) return 0.0;
  ++used_;
  return std::max(0.0, gains_[level_ - 1].gain);
}

}  // namespace metafuse::evaluation::measures

// Measures that model where a user stops reading. Sources: trec_eval (recip_rank, rbp, rbp_resid);
// Moffat, Zobel 2008; Chapelle et al. 2009 (ERR). gdeval uses 4 as ERR's top grade, whatever grades the
// judgments contain.
namespace metafuse::evaluation::measures {
namespace {

double persistence_of(const MeasureParameters& parameters) {
  for (const auto& [name, value] : parameters.pairs)
    if (name == "p") return value;
  return 0.9;
}

}  // namespace

void reciprocal_rank(const MeasuredQuery& query, Values values) {
  const JudgedRanking& ranking = query.ranking;
  const auto first = std::find_if(ranking.grades.begin(), ranking.grades.end(),
                                  [&](int grade) { return query.is_relevant(grade); });
  values[0] =
      first == ranking.grades.end() ? 0.0 : 1.0 / static_cast<double>(first - ranking.grades.begin() + 1);
}

void rank_biased_precision(const MeasuredQuery& query, Values values) {
  std::vector<GradeGain> gains = gains_of(query);
  const double top = gains.empty() ? 0.0 : gains.back().gain;
  const double bottom = gains.empty() ? 0.0 : std::min(0.0, gains.front().gain);
  if (top > 1.0 || bottom < 0.0)
    for (GradeGain& item : gains) item.gain = (item.gain - bottom) / (top - bottom);
  const double persistence = persistence_of(query.parameters);
  double sum = 0.0;
  double weight = 1.0;
  for (const int grade : query.ranking.grades) {
    sum += gain_of(grade, gains) * weight;
    weight *= persistence;
  }
  values[0] = (1.0 - persistence) * sum;
}

void rank_biased_residual(const MeasuredQuery& query, Values values) {
  const double persistence = persistence_of(query.parameters);
  double sum = 0.0;
  double weight = 1.0;
  for (const int grade : query.ranking.grades) {
    if (grade < 0) sum += weight;
    weight *= persistence;
  }
  values[0] = sum > 0.0 ? weight + (1.0 - persistence) * sum : 0.0;
}

void expected_reciprocal_rank(const MeasuredQuery& query, Values values) {
  const JudgedRanking& ranking = query.ranking;
  const double scale = std::exp2(query.rules.mode == Mode::gdeval ? 4 : std::max(1, query.rules.top_grade));
  for (std::size_t column = 0; column < query.parameters.values.size(); ++column) {
    const auto end =
        std::min(static_cast<std::size_t>(query.parameters.values[column]), ranking.grades.size());
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
