#include "experiments/round_curve.h"

#include <algorithm>
#include <span>

#include "evaluation/measures/judged_ranking.h"
#include "fusion/data/fused_order.h"

namespace metafuse::experiments {

RoundCurve::RoundCurve(const fusion::TrainingSet& set, const evaluation::MeasureSet& measures)
    : set_(&set), measures_(&measures) {
  for (const fusion::QueryRange& query : set.queries) {
    const std::vector<double> equal(query.end - query.begin, 0.0);
    std::vector<std::uint32_t> order;
    for (const std::size_t row :
         fusion::fused_order(set.matrix, query.begin, query.end, equal, set.documents))
      order.push_back(static_cast<std::uint32_t>(row - query.begin));
    tie_order_.push_back(std::move(order));
  }
}

std::vector<double> RoundCurve::measure_query(std::size_t query, const std::vector<double>& scores) const {
  const fusion::QueryRange& range = set_->queries[query];
  std::vector<std::uint32_t> order = tie_order_[query];
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return scores[range.begin + a] > scores[range.begin + b];
  });
  const std::span<const double> grades(set_->grades.data() + range.begin, range.end - range.begin);
  return evaluation::evaluate(*measures_, evaluation::judged_ranking(grades, order), {});
}

std::vector<std::vector<double>> RoundCurve::per_query(const std::vector<double>& scores) const {
  std::vector<std::vector<double>> out;
  out.reserve(set_->queries.size());
  for (std::size_t query = 0; query < set_->queries.size(); ++query)
    out.push_back(measure_query(query, scores));
  return out;
}

std::vector<std::vector<double>> RoundCurve::means(const std::vector<fusion::WeakRanking>& rounds) const {
  std::vector<std::vector<double>> out;
  std::vector<double> scores(set_->grades.size(), 0.0);
  for (const fusion::WeakRanking& round : rounds) {
    fusion::add_to_scores(set_->matrix, round, scores);
    std::vector<double> mean(measures_->size(), 0.0);
    for (const auto& values : per_query(scores))
      for (std::size_t m = 0; m < mean.size(); ++m)
        mean[m] += values[m] / static_cast<double>(set_->queries.size());
    out.push_back(std::move(mean));
  }
  return out;
}

}  // namespace metafuse::experiments
