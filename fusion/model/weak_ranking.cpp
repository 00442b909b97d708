#include "fusion/model/weak_ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "core/number.h"
#include "fusion/model/state_fields.h"

namespace metafuse::fusion {

namespace {

constexpr double kLargestRank = 1e9;

Error bad_field(std::size_t place, std::string_view what) {
  return fail(Code::bad_data, "body: weak_rankings[" + std::to_string(place) + "]: " + std::string(what) +
                                  "; train the model again");
}

Result<WeakRanking> read_one(const JsonObject& object, const std::vector<Feature>& features,
                             std::size_t place) {
  WeakRanking ranking;
  double feature = -1.0;
  if (!finite_number(object.if_contains("feature"), feature) || feature < 0.0 ||
      feature != std::floor(feature) || feature >= static_cast<double>(features.size()))
    return bad_field(place, "\"feature\" must be the index of a feature");
  ranking.feature = static_cast<std::uint32_t>(feature);
  const char* key = features[ranking.feature].kind == FeatureKind::rank ? "rank" : "threshold";
  const Json* cut = object.if_contains(key);
  if (cut == nullptr) return bad_field(place, std::string("no \"") + key + "\"");
  double value = 0.0;
  if (cut->is_null()) {
    ranking.threshold = -std::numeric_limits<double>::infinity();
  } else if (!finite_number(cut, value)) {
    return bad_field(place, std::string("\"") + key + "\" must be a finite number or null");
  } else if (features[ranking.feature].kind == FeatureKind::rank) {
    if (value < 0.0 || value > kLargestRank || value != std::floor(value))
      return bad_field(place, "\"rank\" must be a whole number of at least 0");
    ranking.threshold = -(value + 1.0);
  } else {
    ranking.threshold = value;
  }
  if (!finite_number(object.if_contains("q_default"), ranking.q_default) || ranking.q_default < 0.0 ||
      ranking.q_default > 1.0)
    return bad_field(place, "\"q_default\" must be within [0, 1]");
  if (!finite_number(object.if_contains("alpha"), ranking.alpha) || !is_moderate(ranking.alpha))
    return bad_field(place, "\"alpha\" must be a number from -1e100 to 1e100");
  return ranking;
}

}  // namespace

void add_ranking(const WeakRanking& ranking, std::vector<WeakRanking>& rankings) {
  const auto same = std::find_if(rankings.begin(), rankings.end(), [&](const WeakRanking& item) {
    return item.threshold == ranking.threshold && item.q_default == ranking.q_default;
  });
  if (same == rankings.end())
    rankings.push_back(ranking);
  else
    same->alpha += ranking.alpha;
}

bool finite_number(const Json* item, double& value) {
  if (item == nullptr || !item->is_number()) return false;
  value = item->to_number<double>();
  return std::isfinite(value);
}

void put_threshold(JsonObject& object, FeatureKind kind, double threshold) {
  const bool is_rank = kind == FeatureKind::rank;
  Json& cut = object[is_rank ? "rank" : "threshold"];
  if (std::isinf(threshold))
    cut = nullptr;
  else if (is_rank)
    cut = static_cast<std::int64_t>(-threshold - 1.0);
  else
    cut = threshold;
}

std::string threshold_text(FeatureKind kind, double threshold) {
  if (std::isinf(threshold)) return "ranked";
  return kind == FeatureKind::rank ? "rank <= " + number_text(-threshold - 1.0)
                                   : "> " + number_text(threshold);
}

void add_to_scores(const FeatureMatrix& documents, const WeakRanking& ranking, std::vector<double>& scores) {
  for (std::size_t row = 0; row < scores.size(); ++row) {
    const double h = documents.is_unranked(row, ranking.feature)
                         ? ranking.q_default
                         : (documents.value(row, ranking.feature) > ranking.threshold ? 1.0 : 0.0);
    scores[row] += ranking.alpha * h;
  }
}

double StepTable::at(double value) const {
  // Counts the thresholds below the value by a binary search without branches on the value.
  const double* first = thresholds.data();
  for (std::size_t left = thresholds.size(); left > 1;) {
    const std::size_t half = left / 2;
    first += first[half - 1] < value ? half : 0;
    left -= half;
  }
  const auto below = static_cast<std::size_t>(first - thresholds.data());
  return weights[below + (below < thresholds.size() && *first < value ? 1 : 0)];
}

std::vector<StepTable> step_tables(std::span<const WeakRanking> rankings, std::span<const Feature> features) {
  using ByThresholdAndDefault = std::map<std::pair<double, double>, double>;
  std::vector<ByThresholdAndDefault> cumulative(features.size());
  for (const WeakRanking& ranking : rankings)
    cumulative[ranking.feature][{ranking.threshold, ranking.q_default}] += ranking.alpha;
  std::vector<StepTable> tables(features.size());
  for (std::size_t feature = 0; feature < tables.size(); ++feature) {
    StepTable& table = tables[feature];
    table.weights.push_back(0.0);
    for (const auto& [ranking, weight] : cumulative[feature]) {
      table.unranked += ranking.second * weight;
      if (table.thresholds.empty() || table.thresholds.back() != ranking.first) {
        table.thresholds.push_back(ranking.first);
        table.weights.push_back(table.weights.back());
      }
      table.weights.back() += weight;
    }
  }
  return tables;
}

std::string describe_steps(std::span<const StepTable> tables, const std::vector<Feature>& features) {
  std::string text;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const StepTable& table = tables[i];
    if (table.thresholds.empty()) continue;
    text += features[i].name + "\n  unranked: " + number_text(table.unranked) + "\n";
    for (std::size_t j = table.thresholds.size(); j > 0; --j) {
      const std::string cut = threshold_text(features[i].kind, table.thresholds[j - 1]);
      text += "  " + cut + ": " + number_text(table.weights[j]) + "\n";
    }
  }
  return text;
}

JsonArray weak_rankings_json(std::span<const WeakRanking> rankings, std::span<const FeatureKind> kinds) {
  JsonArray list;
  for (const WeakRanking& ranking : rankings) {
    JsonObject item{{"feature", ranking.feature}};
    put_threshold(item, kinds[ranking.feature], ranking.threshold);
    item["q_default"] = ranking.q_default;
    item["alpha"] = ranking.alpha;
    list.push_back(std::move(item));
  }
  return list;
}

Result<std::vector<WeakRanking>> read_weak_rankings(const JsonObject& body,
                                                    const std::vector<Feature>& features) {
  const Json* list = body.if_contains("weak_rankings");
  if (list == nullptr || !list->is_array())
    return fail(Code::bad_data, "body: \"weak_rankings\" must be a list; train the model again");
  std::vector<WeakRanking> rankings;
  for (const Json& item : list->get_array()) {
    if (!item.is_object()) return bad_field(rankings.size(), "must be an object");
    TRY(auto ranking, read_one(item.get_object(), features, rankings.size()));
    rankings.push_back(ranking);
  }
  return rankings;
}

}  // namespace metafuse::fusion
