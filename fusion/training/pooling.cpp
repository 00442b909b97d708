#include "fusion/training/pooling.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/contract.h"
#include "evaluation/significance/significance.h"
#include "fusion/data/base_queries.h"
#include "fusion/input/training_set_builder.h"
#include "fusion/model/prior.h"
#include "fusion/training/registry.h"

namespace metafuse::fusion {
namespace {

constexpr std::size_t kPoolFolds = 5;
/// What a query of another domain counts in relation to an own one; the safest first. 0: own queries alone.
constexpr std::array<double, 3> kPoolWeights = {0.05, 0.2, 0.0};
constexpr std::string_view kOthers = "other ";  // what their names begin with in a joint set

void add_joint_rows(const TrainingSet& set, std::string_view prefix, TrainingSetBuilder& builder) {
  std::vector<Cell> cells;
  for (const QueryRange& query : set.queries) {
    const std::string name = std::string(prefix) + query.id;
    for (std::size_t row = query.begin; row < query.end; ++row) {
      cells.clear();
      for (std::uint32_t f = 0; f < set.matrix.feature_count(); ++f)
        if (!set.matrix.is_unranked(row, f)) cells.push_back({f, set.matrix.value(row, f)});
      builder.add({name, set.documents[row], set.grades[row], set.in_feedback[row] != 0, cells});
    }
  }
}

/// Adds the pairs of a set's queries to the joint set, where they begin elsewhere.
void add_joint_pairs(const TrainingSet& set, std::string_view prefix, TrainingSet& joint) {
  std::vector<std::size_t> begins;  // of each query in the joint set
  for (const QueryRange& query : set.queries)
    begins.push_back(
        std::ranges::lower_bound(joint.queries, std::string(prefix) + query.id, {}, &QueryRange::id)->begin);
  for (const WeightedPair& pair : set.pairs) {
    const auto query = std::ranges::upper_bound(set.queries, pair.below, {}, &QueryRange::begin) - 1;
    const std::size_t begin = begins[static_cast<std::size_t>(query - set.queries.begin())];
    joint.pairs.push_back({static_cast<std::uint32_t>(pair.below - query->begin + begin),
                           static_cast<std::uint32_t>(pair.above - query->begin + begin), pair.weight});
  }
}

/// Both sets as one, in which the others' queries count as much as `weight` says.
Result<TrainingSet> joint_set(const TrainingSet& own, const TrainingSet& others, double weight) {
  TrainingSetBuilder builder;
  add_joint_rows(own, "", builder);
  add_joint_rows(others, kOthers, builder);
  TRY(auto joint, builder.finish(own.matrix.features(), own.feedback));
  for (const QueryRange& query : own.queries)
    std::ranges::lower_bound(joint.queries, query.id, {}, &QueryRange::id)->weight = query.weight;
  for (QueryRange& query : joint.queries)
    if (query.id.starts_with(kOthers)) query.weight = weight;
  add_joint_pairs(own, "", joint);
  std::ranges::sort(joint.pairs, {},
                    [](const WeightedPair& pair) { return std::pair(pair.below, pair.above); });
  return joint;
}

/// The request's queries, or some of them, and those of other domains.
struct Pool {
  const TrainingRequest& request;
  const Learner& learner;
  const TrainingSet& others;

  Result<TrainingResult> train(const TrainingSet& own, double weight) const {
    TrainingRequest again = request;
    again.progress = nullptr;
    again.train = &own;
    if (weight <= 0.0) return learner.train(again);
    TRY(const auto joint, joint_set(own, others, weight));
    again.train = &joint;
    again.options.clear();
    again.prior = nullptr;  // it was learned from the same queries
    return find_learner("rankboost-blend")->train(again);
  }
};

/// A value per own query, by weight.
using ValuesByWeight = std::array<std::vector<double>, kPoolWeights.size()>;

/// Each own query's measure by models that have not seen it.
///
/// out: nothing if the queries of some folds alone teach nothing
Result<std::optional<ValuesByWeight>> measure_weights(const Pool& pool, std::size_t folds,
                                                      const std::vector<HeldOutQuery>& queries) {
  const TrainingSet& own = *pool.request.train;
  TRY(const auto fold_of, folds_to_measure(own, folds, pool.request.seed));
  ValuesByWeight out;
  out.fill(std::vector<double>(queries.size(), 0.0));
  for (std::size_t fold = 0; fold < folds; ++fold) {
    const TrainingSet part = select_queries(own, outside_fold(fold_of, fold));
    for (std::size_t w = 0; w < kPoolWeights.size(); ++w) {
      const auto trained = pool.train(part, kPoolWeights[w]);
      if (!trained && trained.error().code == Code::bad_data) return std::optional<ValuesByWeight>();
      TRY_VOID(trained);
      for (std::size_t i = 0; i < queries.size(); ++i)
        if (fold_of[queries[i].place] == fold)
          out[w][i] = queries[i].measure.value(trained->model.ranker->score(queries[i].set.matrix));
    }
  }
  return std::optional<ValuesByWeight>(std::move(out));
}

double mean_value(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The first weight, or a later one that is better by more than the error.
std::size_t best_weight(const ValuesByWeight& values) {
  std::size_t best = 0;
  for (std::size_t w = 1; w < values.size(); ++w)
    if (mean_value(values[w]) - mean_value(values[best]) >
        evaluation::error_of_difference(values[w], values[best], evaluation::kOneStandardError))
      best = w;
  return best;
}

Result<TrainingResult> train_pooled(const TrainingRequest& request, const Learner& learner,
                                    const std::shared_ptr<const TrainingSet>& others) {
  const TrainingSet& own = *request.train;
  require(own.matrix.features() == others->matrix.features(), "pooled domains have the same lists");
  const std::size_t telling = count_answerable(own);
  if (telling == 0) return learner.train(request);
  const Pool pool{request, learner, *others};
  TRY(const auto queries, measured_queries(own, request.measure.name.empty() ? "map" : request.measure.name));
  std::size_t chosen = 0;
  JsonArray among;
  if (telling >= 2) {
    TRY(const auto values, measure_weights(pool, std::min(kPoolFolds, telling), queries));
    if (values) chosen = best_weight(*values);
    for (std::size_t w = 0; values && w < values->size(); ++w)
      among.push_back(JsonObject{{"weight", kPoolWeights[w]}, {"value", mean_value((*values)[w])}});
  }
  const double weight = kPoolWeights[chosen];
  TRY(auto result, pool.train(own, weight));
  result.model.training[kJudgedQueries] = telling;
  result.model.training["pooled"] = JsonObject{{"weight", weight},
                                               {"queries", others->queries.size()},
                                               {"measured_queries", among.empty() ? 0 : queries.size()},
                                               {"among", std::move(among)}};
  result.summary += fmt::format("{} judged queries of other domains count {:g} of an own one each\n",
                                others->queries.size(), weight);
  result.again = [learner, others, weight](const TrainingRequest& other) {
    return Pool{other, learner, *others}.train(*other.train, weight);
  };
  return result;
}

}  // namespace

Learner pooled_learner(Learner learner, TrainingSet others) {
  Learner row = learner;
  const auto shared = std::make_shared<const TrainingSet>(std::move(others));
  row.train = [learner = std::move(learner), shared](const TrainingRequest& request) {
    return train_pooled(request, learner, shared);
  };
  return row;
}

}  // namespace metafuse::fusion
