#include "fusion/learners/rankboost/margins.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "evaluation/reports/plots.h"
#include "fusion/learners/common/feedback_grades.h"

namespace metafuse::fusion::rankboost {
namespace {

constexpr double kLowShare = 0.05;

/// Calls take(above, all below) for every document and those of its query with a lower grade.
template <class Take>
void for_each_document(const TrainingSet& set, const Take& take) {
  std::vector<std::uint32_t> rows;
  for (const QueryRange& query : set.queries) {
    rows.clear();
    for (std::size_t row = query.begin; row < query.end; ++row)
      if (is_in_feedback(set, row)) rows.push_back(static_cast<std::uint32_t>(row));
    const auto grade = [&](std::uint32_t row) { return feedback_grade(set, row); };
    std::ranges::stable_sort(rows, {}, grade);
    std::size_t below = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (grade(rows[i]) > grade(rows[below])) below = i;
      take(rows[i], std::span(rows).first(below));
    }
  }
}

std::size_t count_pairs(const TrainingSet& set) {
  std::size_t pairs = set.pairs.size();
  for_each_document(set, [&](std::uint32_t, std::span<const std::uint32_t> below) { pairs += below.size(); });
  return pairs;
}

/// Every n-th of all crucial pairs: first those from grades, then general ones.
std::vector<WeightedPair> every_nth_pair(const TrainingSet& set, std::size_t n) {
  std::vector<WeightedPair> pairs;
  std::size_t skipped = 0;  // so many of the next pairs are left out
  for_each_document(set, [&](std::uint32_t above, std::span<const std::uint32_t> below) {
    for (; skipped < below.size(); skipped += n) pairs.push_back({below[skipped], above});
    skipped -= below.size();
  });
  for (; skipped < set.pairs.size(); skipped += n) pairs.push_back(set.pairs[skipped]);
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
  report.pairs = count_pairs(set);
  if (report.pairs == 0)
    return fail(Code::bad_data, "there is no crucial pair: no document must be ranked above another");
  const std::vector<WeightedPair> pairs =
      every_nth_pair(set, (report.pairs + MarginReport::kMostPairs - 1) / MarginReport::kMostPairs);
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
