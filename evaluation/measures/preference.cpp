#include <algorithm>
#include <cmath>
#include <limits>

#include "core/contract.h"
#include "evaluation/measures/all.h"

// Measures of Freund, Iyer, Schapire, Singer 2003: the average rank of the best relevant document (sec. 6.1),
// the ranking loss with ties counted half (eq. 21), and the expectations over ties of sec. 6.2.4 in closed
// form (eq. 22).
namespace metafuse::evaluation::measures {
namespace {

bool is_tie(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max({1.0, std::abs(a), std::abs(b)});
}

/// A run of documents with tied scores: positions [begin, end), and how many of them are good.
struct TieGroup {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t good = 0;
};

/// A "good" document has the query's highest grade among those ranked, and that grade is above 0.
std::vector<TieGroup> tie_groups(const JudgedRanking& ranking) {
  int top = 1;
  for (const int grade : ranking.grades) top = std::max(top, grade);
  std::vector<TieGroup> groups;
  for (std::size_t i = 0; i < ranking.grades.size(); ++i) {
    const bool is_tied = i > 0 && !ranking.scores.empty() && is_tie(ranking.scores[i - 1], ranking.scores[i]);
    if (!is_tied) groups.push_back({i, i, 0});
    ++groups.back().end;
    groups.back().good += ranking.grades[i] >= top ? 1 : 0;
  }
  return groups;
}

double log_factorial(double n) {
  int sign = 0;
  return ::lgamma_r(n + 1.0, &sign);  // std::lgamma() writes a global variable
}

/// The sum over i of k Pr[rank(t_k) = i] / i (eq. 22) for the j-th good document of a tie group, where i runs
/// over the positions that this document can have within the group, and k = good_before + j.
/// cost: O(documents of the group)
double expected_precision(const TieGroup& group, std::size_t good_before, std::size_t j) {
  const auto size = static_cast<double>(group.end - group.begin);
  const auto good = static_cast<double>(group.good);
  const auto before = static_cast<double>(group.begin);
  const auto k = static_cast<double>(good_before + j);
  // Pr[Y_j = l], l = j ..., by eq. (24), in logarithms because binomials overflow.
  const auto log_binomial = [](double n, double m) {
    return log_factorial(n) - log_factorial(m) - log_factorial(n - m);
  };
  const auto place = static_cast<double>(j);
  double sum = 0.0;
  for (double l = place; l <= size - good + place; l += 1.0) {
    const double log_probability =
        log_binomial(l - 1.0, place - 1.0) + log_binomial(size - l, good - place) - log_binomial(size, good);
    sum += std::exp(log_probability) * k / (before + l);
  }
  return sum;
}

/// The sum of expected_precision() over all good documents of a tie group. Summed over positions instead:
/// place l of the group holds a good document with probability good / size, and each of the l - 1 documents
/// above it is then good with probability (good - 1) / (size - 1).
/// cost: O(documents of the group)
double expected_precisions(const TieGroup& group, std::size_t good_before) {
  const auto size = static_cast<double>(group.end - group.begin);
  const auto good = static_cast<double>(group.good);
  const double also_good = size > 1.0 ? (good - 1.0) / (size - 1.0) : 0.0;
  double sum = 0.0;
  for (double l = 1.0; l <= size; l += 1.0)
    sum += (static_cast<double>(good_before) + 1.0 + (l - 1.0) * also_good) /
           (static_cast<double>(group.begin) + l);
  return good / size * sum;
}

}  // namespace

void average_rank(const MeasuredQuery& query, Values values) {
  const double rank = rank_of_first_relevant(query).value_or(std::numeric_limits<double>::infinity());
  std::ranges::transform(query.parameters.values, values.begin(),
                         [rank](double cap) { return std::min(rank, cap); });
}

void average_rank_loss(const MeasuredQuery& query, Values values) {
  const JudgedRanking& ranking = query.ranking;
  require(ranking.scores.size() == ranking.grades.size() || ranking.scores.empty(),
          "scores stand beside grades");
  double sum = 0.0;
  for (std::size_t i = 0; i < ranking.scores.size(); ++i)
    sum += std::abs(ranking.scores[i] - static_cast<double>(std::max(0, ranking.grades[i])));
  values[0] = ranking.scores.empty() ? 0.0 : sum / static_cast<double>(ranking.scores.size());
}

void ranking_loss(const MeasuredQuery& query, Values values) {
  const JudgedRanking& ranking = query.ranking;
  // How many documents of each grade are above the current tie group, and how many are in it.
  std::vector<int> levels;
  for (const int grade : ranking.grades) levels.push_back(std::max(0, grade));
  std::vector<int> distinct = levels;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<double> above(distinct.size(), 0.0);
  std::vector<double> tied(distinct.size(), 0.0);
  double wrong = 0.0;
  double pairs = 0.0;
  const auto flush = [&] {
    double lower_above = 0.0;  // documents of lower grades than `high`
    double lower_tied = 0.0;
    for (std::size_t high = 0; high < distinct.size(); ++high) {
      wrong += tied[high] * (lower_above + 0.5 * lower_tied);
      pairs += tied[high] * (lower_above + lower_tied) + above[high] * lower_tied;
      lower_above += above[high];
      lower_tied += tied[high];
    }
    for (std::size_t i = 0; i < distinct.size(); ++i) above[i] += std::exchange(tied[i], 0.0);
  };
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (i > 0 && (ranking.scores.empty() || !is_tie(ranking.scores[i - 1], ranking.scores[i]))) flush();
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), levels[i]) - distinct.begin();
    tied[static_cast<std::size_t>(at)] += 1.0;
  }
  flush();
  values[0] = pairs > 0.0 ? wrong / pairs : 0.0;
}

void expected_average_precision(const MeasuredQuery& query, Values values) {
  double sum = 0.0;
  std::size_t good = 0;
  for (const TieGroup& group : tie_groups(query.ranking)) {
    sum += expected_precisions(group, good);
    good += group.good;
  }
  values[0] = good > 0 ? sum / static_cast<double>(good) : 0.0;
}

void expected_rank_of_top(const MeasuredQuery& query, Values values) {
  values[0] = 0.0;
  for (const TieGroup& group : tie_groups(query.ranking)) {
    if (group.good == 0) continue;
    values[0] = expected_precision(group, 0, 1);
    return;
  }
}

void expected_coverage(const MeasuredQuery& query, Values values) {
  values[0] = 0.0;
  std::size_t good = 0;
  for (const TieGroup& group : tie_groups(query.ranking)) {
    if (group.good > 0) values[0] = expected_precision(group, good, group.good);
    good += group.good;
  }
}

}  // namespace metafuse::evaluation::measures
