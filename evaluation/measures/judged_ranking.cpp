#include "evaluation/measures/judged_ranking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/contract.h"

namespace metafuse::evaluation {

std::size_t JudgedRanking::relevant(int level) const {
  std::size_t sum = 0;
  for (const GradeCount& item : judged)
    if (item.grade >= level) sum += item.count;
  return sum;
}

std::size_t JudgedRanking::relevant_retrieved(int level) const {
  return static_cast<std::size_t>(
      std::count_if(grades.begin(), grades.end(), [level](int grade) { return grade >= level; }));
}

JudgedRanking judged_ranking(std::span<const double> grades, std::span<const std::uint32_t> order,
                             std::span<const double> scores) {
  require(order.size() <= grades.size(), "an order names documents that have no grade");
  const auto whole = [](double grade) { return std::max(0, static_cast<int>(std::lround(grade))); };
  JudgedRanking ranking;
  ranking.grades.reserve(order.size());
  for (const std::uint32_t document : order) {
    ranking.grades.push_back(whole(grades[document]));
    if (!scores.empty()) ranking.scores.push_back(scores[document]);
  }
  std::vector<int> sorted;
  sorted.reserve(grades.size());
  for (const double grade : grades) sorted.push_back(whole(grade));
  std::sort(sorted.begin(), sorted.end());
  for (const int grade : sorted) {
    if (ranking.judged.empty() || ranking.judged.back().grade != grade) ranking.judged.push_back({grade, 0});
    ++ranking.judged.back().count;
  }
  return ranking;
}

std::vector<std::uint32_t> order_by_score(std::span<const double> scores) {
  std::vector<std::uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return scores[a] > scores[b]; });
  return order;
}

}  // namespace metafuse::evaluation
