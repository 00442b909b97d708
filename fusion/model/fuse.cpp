#include "fusion/model/fuse.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/contract.h"
#include "fusion/data/prefix_order.h"
#include "fusion/data/standing.h"

namespace metafuse::fusion {
namespace {

/// The value of one feature for an instance, or nothing when unranked.
struct FeatureValue {
  bool is_ranked = false;
  std::uint32_t rank = 0;
  double value = 0.0;
};

/// The feature values of one base query's instances.
class InstanceValues {
 public:
  InstanceValues(const std::vector<Feature>& features, const QueryInstances& instances)
      : instances_(instances),
        derived_count_(features.size() - instances.lists),
        derived_(derived_values(features, instances)) {}

  FeatureValue at(std::size_t instance, std::size_t feature) const {
    if (feature >= instances_.lists) {
      const double value = derived_[instance * derived_count_ + feature - instances_.lists];
      return {!std::isnan(value), 0, value};
    }
    const std::uint32_t rank = instances_.ranks_of(instance)[feature];
    return {rank > 0, rank, -static_cast<double>(rank)};
  }

 private:
  const QueryInstances& instances_;
  std::size_t derived_count_;
  std::vector<double> derived_;
};

double step_value(const StepTable& table, const FeatureValue& value) {
  if (!value.is_ranked) return table.unranked;
  return value.rank > 0 && !table.by_rank.empty() ? table.at_rank(value.rank) : table.at(value.value);
}

/// Adds what the rank features earn by their rank alone, in feature order. out: the first
/// feature that needs more than that
std::size_t add_rank_scores(const StepRanker& ranker, const QueryInstances& instances,
                            std::vector<double>& scores) {
  struct Column {
    const StepTable* table;
    std::size_t feature;
  };
  std::vector<Column> columns;
  std::size_t end = 0;
  for (; end < instances.lists; ++end) {
    const StepTable& table = ranker.tables()[end];
    if (table.thresholds.empty()) continue;
    if (table.by_rank.empty()) break;
    columns.push_back({&table, end});
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::uint32_t* const ranks = instances.ranks_of(i).data();
    double score = 0.0;
    for (const Column& column : columns) score += column.table->at_rank(ranks[column.feature]);
    scores[i] = score;
  }
  return end;
}

std::vector<double> step_scores(const StepRanker& ranker, const std::vector<Feature>& features,
                                const QueryInstances& instances) {
  std::vector<double> scores(instances.documents.size(), 0.0);
  const std::size_t first = add_rank_scores(ranker, instances, scores);
  if (first == features.size()) return scores;
  const InstanceValues values(features, instances);
  for (std::size_t i = 0; i < scores.size(); ++i)
    for (std::size_t f = first; f < features.size(); ++f)
      if (const StepTable& table = ranker.tables()[f]; !table.thresholds.empty())
        scores[i] += step_value(table, values.at(i, f));
  return scores;
}

/// Equal weak rankings of one feature that fire for a value, their alphas added up.
std::vector<WeakRanking> fired_rankings(const StepRanker& ranker, std::size_t feature,
                                        const FeatureValue& value) {
  std::vector<WeakRanking> fired;
  for (const WeakRanking& ranking : ranker.rankings()) {
    if (ranking.feature != feature) continue;
    if (value.is_ranked ? !(value.value > ranking.threshold) : ranking.q_default == 0.0) continue;
    const auto at = std::find_if(fired.begin(), fired.end(), [&](const WeakRanking& item) {
      return item.threshold == ranking.threshold && item.q_default == ranking.q_default;
    });
    if (at == fired.end())
      fired.push_back(ranking);
    else
      at->alpha += ranking.alpha;
  }
  std::sort(fired.begin(), fired.end(),
            [](const WeakRanking& a, const WeakRanking& b) { return a.threshold > b.threshold; });
  return fired;
}

}  // namespace

std::size_t list_count(const Model& model) {
  return static_cast<std::size_t>(std::count_if(model.features.begin(), model.features.end(),
                                                [](const Feature& f) { return !is_derived(f); }));
}

std::vector<std::uint32_t> order_instances(const QueryInstances& instances, std::span<const double> scores) {
  require(scores.size() == instances.documents.size(), "a score an instance");
  std::vector<std::uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> standings;
  keys.reserve(scores.size());
  standings.reserve(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    keys.push_back(~ordered_bits(scores[i]));
    standings.push_back(Standing::of(instances.ranks_of(i)).number());
  }
  sort_by_keys(keys, std::span(order), [&](std::uint32_t a, std::uint32_t b) {
    if (scores[a] != scores[b]) return scores[a] > scores[b];
    if (standings[a] != standings[b]) return standings[a] < standings[b];
    return a < b;  // instances ascend by document id
  });
  return order;
}

FusedRanking fuse(const Model& model, QueryInstances instances) {
  require(instances.lists == list_count(model), "a list for each rank feature of the model");
  FusedRanking ranking;
  ranking.instances = std::move(instances);
  if (const auto* steps = dynamic_cast<const StepRanker*>(model.ranker.get()))
    ranking.scores = step_scores(*steps, model.features, ranking.instances);
  else
    ranking.scores = model.ranker->score(feature_matrix(model.features, ranking.instances));
  ranking.order = order_instances(ranking.instances, ranking.scores);
  return ranking;
}

FusedRanking fuse(const Model& model, std::span<const RankedIds> lists) {
  require(lists.size() == list_count(model), "a list for each rank feature of the model");
  std::vector<int> depths;
  for (std::size_t i = 0; i < lists.size(); ++i) depths.push_back(model.features[i].depth);
  return fuse(model, collect_instances(lists, depths));
}

Explanation explain(const Model& model, const FusedRanking& ranking, std::size_t instance) {
  Explanation explanation;
  explanation.score = ranking.scores[instance];
  const InstanceValues values(model.features, ranking.instances);
  const auto* steps = dynamic_cast<const StepRanker*>(model.ranker.get());
  std::vector<double> weights;
  if (steps == nullptr) {
    weights = model.ranker->contributions(feature_matrix(model.features, ranking.instances), instance);
    if (weights.empty()) return explanation;
  }
  for (std::size_t f = 0; f < model.features.size(); ++f) {
    const FeatureValue value = values.at(instance, f);
    FeatureShare share{f, value.rank, 0.0, {}};
    share.weight = steps != nullptr ? step_value(steps->tables()[f], value) : weights[f];
    if (steps != nullptr) share.fired = fired_rankings(*steps, f, value);
    explanation.features.push_back(std::move(share));
  }
  return explanation;
}

}  // namespace metafuse::fusion
