#include "fusion/model/fuse.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/contract.h"
#include "fusion/data/fused_order.h"
#include "fusion/model/sum_ranker.h"

namespace metafuse::fusion {
namespace {

/// The value of one feature for an instance, if the instance is ranked.
struct FeatureValue {
  bool is_ranked = false;
  std::uint32_t rank = 0;
  double value = 0.0;
};

/// The feature values of an instance.
std::vector<FeatureValue> instance_values(const std::vector<Feature>& features,
                                          const QueryInstances& instances, std::size_t instance) {
  std::vector<FeatureValue> values;
  for (const std::uint32_t rank : instances.ranks_of(instance))
    values.push_back({rank > 0, rank, -static_cast<double>(rank)});
  for (const double value : derived_values(features, instances, instance))
    values.push_back({!std::isnan(value), 0, value});
  return values;
}

/// What each feature adds to a score that is no sum of tables; empty if the ranker is no sum over features.
std::vector<double> contributions_of(const Model& model, std::span<const FeatureValue> values) {
  FeatureMatrix row(model.features, 1);
  for (std::size_t f = 0; f < values.size(); ++f)
    if (values[f].is_ranked) row.set(0, f, values[f].value);
  return model.ranker->contributions(row, 0);
}

double part_of(const SumRanker& ranker, std::size_t feature, const FeatureValue& value) {
  if (!value.is_ranked) return ranker.unranked_part(feature);
  return value.rank > 0 ? ranker.at_rank(feature, value.rank) : ranker.part(feature, value.value);
}

/// The weak rankings of one feature that fire for a value, with the alphas of equal ones added up.
std::vector<WeakRanking> fired_rankings(const std::vector<WeakRanking>& rankings, std::size_t feature,
                                        const FeatureValue& value) {
  std::vector<WeakRanking> fired;
  for (const WeakRanking& ranking : rankings) {
    if (ranking.feature != feature) continue;
    if (value.is_ranked ? !(value.value > ranking.threshold) : ranking.q_default == 0.0) continue;
    add_ranking(ranking, fired);
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
  const auto standing_of = [&](std::uint32_t i) { return Standing::of(instances.ranks_of(i)); };
  return fused_order(scores, standing_of, std::less<>());  // instances are sorted by document id
}

FusedRanking fuse(const Model& model, QueryInstances instances) {
  require(instances.lists == list_count(model), "a list for each rank feature of the model");
  FusedRanking ranking;
  ranking.instances = std::move(instances);
  ranking.scores = model.ranker->score_instances(model.features, ranking.instances);
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
  const auto values = instance_values(model.features, ranking.instances, instance);
  const SumRanker* sum = model.ranker->sum();
  const std::vector<WeakRanking>* steps = sum != nullptr ? sum->rankings() : nullptr;
  std::vector<double> weights;
  if (sum == nullptr) {
    weights = contributions_of(model, values);
    if (weights.empty()) return explanation;
  }
  for (std::size_t f = 0; f < model.features.size(); ++f) {
    const FeatureValue& value = values[f];
    FeatureShare share{f, value.rank, 0.0, {}};
    share.weight = sum != nullptr ? part_of(*sum, f, value) : weights[f];
    if (steps != nullptr) share.fired = fired_rankings(*steps, f, value);
    explanation.features.push_back(std::move(share));
  }
  return explanation;
}

namespace {

/// The indices in `names` of the model's rank features. Derived features have no list and are accepted.
Result<std::vector<std::size_t>> match_lists(const Model& model, std::vector<std::string> names,
                                             bool may_be_missing) {
  const std::size_t lists = names.size();
  for (const Feature& feature : model.features) {
    if (is_derived(feature)) {
      names.push_back(feature.name);
    } else if (feature.kind != FeatureKind::rank) {
      return fail(Code::bad_data, "the model's feature \"" + feature.name +
                                      "\" is a value, not a rank; use `metafuse score` with a LETOR file");
    }
  }
  TRY(auto matched, match_features(model, names, may_be_missing));
  matched.resize(list_count(model));
  for (std::size_t& place : matched)
    if (place >= lists) place = kMissing;
  return matched;
}

}  // namespace

Result<ScoreQuery> score_with_model(const Model& model, const std::vector<std::string>& names,
                                    bool may_be_missing) {
  TRY(auto matched, match_lists(model, names, may_be_missing));
  return ScoreQuery([model, list_of = matched](const QueryLists& query) {
    std::vector<std::vector<std::string_view>> ids(list_of.size());
    for (std::size_t i = 0; i < list_of.size(); ++i) {
      if (list_of[i] == kMissing) continue;
      for (const ListEntry& entry : query.lists[list_of[i]])
        ids[i].push_back(query.documents[entry.document]);
    }
    const FusedRanking ranking = fuse(model, std::vector<RankedIds>(ids.begin(), ids.end()));
    // Documents below the model's depths are in no instance: they come last.
    double least = 0.0;
    for (const double score : ranking.scores) least = std::min(least, score);
    std::vector<double> scores(query.size(), least - 1.0);
    const auto& known = ranking.instances.documents;
    for (std::size_t document = 0; document < query.size(); ++document) {
      const auto at = std::lower_bound(known.begin(), known.end(), query.documents[document]);
      if (at != known.end() && *at == query.documents[document])
        scores[document] = ranking.scores[static_cast<std::size_t>(at - known.begin())];
    }
    return scores;
  });
}

}  // namespace metafuse::fusion
