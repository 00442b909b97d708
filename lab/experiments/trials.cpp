#include "lab/experiments/trials.h"

#include <algorithm>
#include <memory>
#include <span>

#include "core/contract.h"
#include "evaluation/measures/measure.h"
#include "fusion/data/fused_order.h"
#include "lab/registry.h"

namespace metafuse::lab::experiments {

Result<fusion::Model> train_with(const fusion::Learner& learner, const fusion::TrainingSet& set,
                                 fusion::TrainingRequest request) {
  request.train = &set;
  request.trace.is_wanted = false;
  TRY(auto result, learner.train(request));
  return std::move(result.model);
}

Result<fusion::Model> train(const Method& method, const fusion::TrainingSet& set,
                            fusion::TrainingRequest request) {
  request.options = method.options;
  const fusion::Learner* row = find_learner(method.learner.empty() ? method.name : method.learner);
  require(row != nullptr, "an experiment names learners of the laboratory's table");
  return train_with(*row, set, std::move(request));
}

Result<std::vector<fusion::WeakRanking>> rounds_of(const fusion::Model& model) {
  const fusion::SumRanker* sum = model.ranker->sum();
  if (sum == nullptr || sum->rankings() == nullptr)
    return fail(Code::internal, "the model is not a sum of thresholded features");
  return *sum->rankings();
}

QueryMeasures::QueryMeasures(const fusion::TrainingSet& set, const evaluation::MeasureSet& measures,
                             std::size_t limit)
    : set_(&set), measures_(&measures), limit_(limit) {
  for (const fusion::QueryRange& query : set.queries) {
    const std::vector<double> equal(query.end - query.begin, 0.0);
    std::vector<std::uint32_t> order;
    for (const std::size_t row :
         fusion::fused_order(set.matrix, query.begin, query.end, equal, set.documents))
      order.push_back(static_cast<std::uint32_t>(row - query.begin));
    tie_order_.push_back(std::move(order));
  }
}

std::vector<std::vector<double>> QueryMeasures::of(const std::vector<double>& scores) const {
  std::vector<std::vector<double>> values;
  values.reserve(set_->queries.size());
  for (std::size_t query = 0; query < set_->queries.size(); ++query) {
    const fusion::QueryRange& range = set_->queries[query];
    std::vector<std::uint32_t> order = tie_order_[query];
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return scores[range.begin + a] > scores[range.begin + b];
    });
    evaluation::JudgedRanking ranking =
        evaluation::judged_ranking(fusion::judged_grades(*set_, range), order);
    if (limit_ > 0 && ranking.grades.size() > limit_) ranking.grades.resize(limit_);
    values.push_back(evaluation::evaluate(*measures_, ranking, {}));
  }
  return values;
}

}  // namespace metafuse::lab::experiments
