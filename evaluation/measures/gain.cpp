#include <algorithm>
#include <cmath>
#include <ranges>

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

// Normalised discounted cumulative gain in the forms in use:
// - trec_eval (Jarvelin, Kekalainen 2002): gain = grade, discount log2(1 + position); the ideal ranking is
//   over all judged documents of the query.
// - gdeval (TREC Web track): gain 2^grade - 1, discount log2(1 + position), cut off at the query's k.
// - Burges et al. 2005 as printed by the LETOR scripts: gain 2^grade - 1, discount 1 at position 1 and
//   log2(position) after it, ideal ranking over the documents of the file. In LETOR 3.0 and 4.0, NDCG@k is 0
//   for a query with fewer than k documents; in MSLR's script it is not.

namespace {

bool is_letor(Mode mode) {
  return mode == Mode::letor3 || mode == Mode::letor4 || mode == Mode::mslr;
}

std::vector<GradeGain> exponential_gains(const JudgedRanking& ranking) {
  std::vector<GradeGain> gains;
  for (const auto& [grade, count] : ranking.judged) gains.push_back({grade, exponential_gain(grade), count});
  return gains;
}

/// in: found - the gains of the documents in order; ideal_depth - how many of the ideal ranking count
template <class Found, class Discount>
double ndcg_with(std::span<const GradeGain> gains, const Found& found, std::size_t ideal_depth,
                 Discount discount) {
  double sum = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (const double gain = found[i]; gain != 0.0) sum += gain / discount(i + 1);
  double ideal = 0.0;
  IdealGains ideal_gains(gains);
  for (std::size_t i = 0; i < ideal_depth; ++i) {
    const double gain = ideal_gains.next();
    if (gain <= 0.0) break;
    ideal += gain / discount(i + 1);
  }
  return ideal > 0.0 ? sum / ideal : 0.0;
}

double burges_ndcg(const JudgedRanking& ranking, std::size_t depth) {
  const auto found = first_grades(ranking, depth) | std::views::transform(exponential_gain);
  return ndcg_with(exponential_gains(ranking), found, depth, burges_discount);
}

/// in: ideal_depth - of trec_eval's modes; the others cut the ideal ranking like the query's
double ndcg_to(const MeasuredQuery& query, std::size_t depth, std::size_t ideal_depth) {
  const Mode mode = query.rules.mode;
  if (is_letor(mode) && mode != Mode::mslr && query.ranking.grades.size() < depth) return 0.0;
  if (is_letor(mode)) return burges_ndcg(query.ranking, depth);
  const auto grades = first_grades(query.ranking, depth);
  if (mode == Mode::gdeval)
    return ndcg_with(exponential_gains(query.ranking), grades | std::views::transform(exponential_gain),
                     depth, log_discount);
  const std::vector<GradeGain> gains = gains_of(query);
  const auto gain = [&](int grade) { return gain_of(grade, gains); };
  return ndcg_with(gains, grades | std::views::transform(gain), ideal_depth, log_discount);
}

double persistence_of(const MeasureParameters& parameters) {
  for (const auto& [name, value] : parameters.pairs)
    if (name == "p") return value;
  return 0.9;
}

}  // namespace

void ndcg(const MeasuredQuery& query, Values values) {
  const JudgedRanking& ranking = query.ranking;
  const std::size_t depth = query.rules.mode == Mode::gdeval
                                ? std::max(ranking.grades.size(), ranking.relevant(0))
                                : ranking.grades.size();
  values[0] = depth > 0 ? ndcg_to(query, depth, static_cast<std::size_t>(-1)) : 0.0;
}

void ndcg_at(const MeasuredQuery& query, Values values) {
  at_each_cutoff(query, values, [&](std::size_t cutoff) {
    return ndcg_to({query.ranking, {}, query.rules}, cutoff, cutoff);
  });
}

void ndcg_burges(const MeasuredQuery& query, Values values) {
  at_each_cutoff(query, values, [&](std::size_t cutoff) { return burges_ndcg(query.ranking, cutoff); });
}

void mean_ndcg_burges(const MeasuredQuery& query, Values values) {
  const JudgedRanking& ranking = query.ranking;
  const std::vector<GradeGain> gains = exponential_gains(ranking);
  IdealGains ideal_gains(gains);
  double dcg = 0.0;
  double ideal = 0.0;
  double sum = 0.0;
  for (std::size_t i = 0; i < ranking.grades.size(); ++i) {
    dcg += exponential_gain(ranking.grades[i]) / burges_discount(i + 1);
    ideal += ideal_gains.next() / burges_discount(i + 1);
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
    if (!to_integer(name, grade)) continue;  // rbp's p
    const auto at = std::ranges::lower_bound(gains, grade, {}, &GradeGain::grade);
    if (at != gains.end() && at->grade == grade)
      at->gain = gain;
    else
      gains.insert(at, {static_cast<int>(grade), gain, 0});
  }
  return gains;
}

double gain_of(int grade, std::span<const GradeGain> gains) {
  const auto at = std::ranges::lower_bound(gains, grade, {}, &GradeGain::grade);
  return at == gains.end() || at->grade != grade ? 0.0 : at->gain;
}

IdealGains::IdealGains(std::span<const GradeGain> gains)
    : gains_(gains.begin(), gains.end()), level_(gains.size()) {
  std::ranges::sort(gains_, {}, &GradeGain::gain);
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

// Measures that model where a user stops reading. Sources: trec_eval (recip_rank, rbp, rbp_resid);
// Moffat, Zobel 2008; Chapelle et al. 2009 (ERR). gdeval uses 4 as ERR's top grade, whatever grades the
// judgments contain.

void reciprocal_rank(const MeasuredQuery& query, Values values) {
  const auto rank = rank_of_first_relevant(query);
  values[0] = rank ? 1.0 / *rank : 0.0;
}

void rank_biased_precision(const MeasuredQuery& query, Values values) {
  std::vector<GradeGain> gains = gains_of(query);
  double top = gains.empty() ? 0.0 : gains.front().gain;
  double bottom = 0.0;
  for (const GradeGain& item : gains) {
    top = std::max(top, item.gain);
    bottom = std::min(bottom, item.gain);
  }
  if (top > 1.0 || bottom < 0.0)
    for (GradeGain& item : gains)
      item.gain = top > bottom ? (item.gain - bottom) / (top - bottom) : 0.0;  // all gains equal: none counts
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
  const int top = query.rules.mode == Mode::gdeval ? 4 : std::max(1, query.rules.top_grade);
  const double scale = exponential_gain(top) + 1.0;
  at_each_cutoff(query, values, [&](std::size_t cutoff) {
    double sum = 0.0;
    double goes_on = 1.0;
    double rank = 0.0;
    for (const int grade : first_grades(query.ranking, cutoff)) {
      const double stops = std::min(1.0, exponential_gain(grade) / scale);  // a higher grade stops as well
      sum += stops * goes_on / (rank += 1.0);
      goes_on *= 1.0 - stops;
    }
    return sum;
  });
}

}  // namespace metafuse::evaluation::measures
