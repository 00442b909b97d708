#include "fusion/learners/rankboost/margins.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "evaluation/reports/plots.h"
#include "fusion/learners/common/feedback_grades.h"

namespace metafuse::fusion::rankboost {
namespace {

constexpr double kLowShare = 0.05;

/// Calls take(pair) for every crucial pair: first those from grades, query by query, then
/// general ones.
template <class Take>
void for_each_pair(const TrainingSet& set, const Take& take) {
  for (const QueryRange& query : set.queries)
    for (std::size_t above = query.begin; above < query.end; ++above)
      for (std::size_t below = query.begin; below < query.end; ++below)
        if (is_in_feedback(set, above) && is_in_feedback(set, below) &&
            feedback_grade(set, above) > feedback_grade(set, below))
          take(WeightedPair{static_cast<std::uint32_t>(below), static_cast<std::uint32_t>(above)});
  for (const WeightedPair& pair : set.pairs) take(pair);
}

std::vector<WeightedPair> some_pairs(const TrainingSet& set, std::size_t all) {
  const std::size_t stride =
      std::max<std::size_t>(1, (all + MarginReport::kMostPairs - 1) / MarginReport::kMostPairs);
  std::vector<WeightedPair> pairs;
  std::size_t number = 0;
  for_each_pair(set, [&](const WeightedPair& pair) {
    if (number++ % stride == 0) pairs.push_back(pair);
  });
  return pairs;
}

std::vector<double> margins_of_pairs(const std::vector<WeightedPair>& pairs,
                                     const std::vector<double>& scores, double weight) {
  std::vector<double> margins;
  for (const WeightedPair& pair : pairs)
    margins.push_back(weight > 0.0 ? (scores[pair.above] - scores[pair.below]) / weight : 0.0);
  return margins;
}

/// The index of a quantile in a sorted sample.
std::size_t place_of(double share, std::size_t count) {
  return std::min(count - 1, static_cast<std::size_t>(share * static_cast<double>(count)));
}

}  // namespace

Result<MarginReport> margins_of(const TrainingSet& set, std::span<const WeakRanking> rankings) {
  MarginReport report;
  for_each_pair(set, [&](const WeightedPair&) { ++report.pairs; });
  if (report.pairs == 0)
    return fail(Code::bad_data, "there is no crucial pair: no document must be ranked above another");
  const std::vector<WeightedPair> pairs = some_pairs(set, report.pairs);
  std::vector<double> scores(set.matrix.document_count(), 0.0);
  double weight = 0.0;
  report.margins = margins_of_pairs(pairs, scores, weight);
  for (const WeakRanking& ranking : rankings) {
    add_to_scores(set.matrix, ranking, scores);
    weight += std::abs(ranking.alpha);
    report.margins = margins_of_pairs(pairs, scores, weight);
    std::vector<double> sample = report.margins;
    const auto low = sample.begin() + static_cast<std::ptrdiff_t>(place_of(kLowShare, sample.size()));
    std::nth_element(sample.begin(), low, sample.end());
    report.low.push_back(*low);
    report.least.push_back(*std::min_element(sample.begin(), low + 1));
    if (report.best_rounds == 0 || report.low.back() > report.low[report.best_rounds - 1])
      report.best_rounds = report.low.size();
  }
  std::sort(report.margins.begin(), report.margins.end());
  return report;
}

std::string to_text(const MarginReport& report) {
  const auto at = [&](double share) { return report.margins[place_of(share, report.margins.size())]; };
  const auto wrong =
      std::lower_bound(report.margins.begin(), report.margins.end(), 0.0) - report.margins.begin();
  std::string text = fmt::format(
      "{} crucial pairs, {} of them taken; {:.1f} % are ordered wrongly\n"
      "margins: least {:+.4f}, of one pair in twenty at most {:+.4f}, of half {:+.4f}, greatest {:+.4f}\n",
      report.pairs, report.margins.size(),
      100.0 * static_cast<double>(wrong) / static_cast<double>(report.margins.size()), at(0.0), at(kLowShare),
      at(0.5), report.margins.back());
  if (report.best_rounds > 0)
    text +=
        fmt::format("stopping by margin would choose {} of {} rounds: one pair in twenty {:+.4f} at most\n",
                    report.best_rounds, report.low.size(), report.low[report.best_rounds - 1]);
  return text;
}

std::string to_page(const MarginReport& report) {
  evaluation::Curve shares{"share of the pairs", {}, {}};
  for (std::size_t i = 0; i < report.margins.size(); ++i) {
    shares.x.push_back(report.margins[i]);
    shares.y.push_back(static_cast<double>(i + 1) / static_cast<double>(report.margins.size()));
  }
  std::vector<std::string> plots{evaluation::svg_plot(
      {shares}, {"Pairs of at most this margin", "margin", "share of the pairs", false})};
  if (!report.low.empty()) {
    evaluation::Curve low{"one pair in twenty", {}, report.low};
    evaluation::Curve least{"least", {}, report.least};
    for (std::size_t round = 1; round <= report.low.size(); ++round) {
      low.x.push_back(static_cast<double>(round));
      least.x.push_back(static_cast<double>(round));
    }
    plots.push_back(evaluation::svg_plot({low, least}, {"Margins by round", "round", "margin", false}));
  }
  return evaluation::html_page("Margins of the final ranking", to_text(report), plots);
}

}  // namespace metafuse::fusion::rankboost
