#include "fusion/model/weak_ranking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/contract.h"
#include "core/number.h"

namespace metafuse::fusion {

std::vector<double> SumRanker::score(const FeatureMatrix& documents) const {
  require(documents.feature_count() == by_rank_.size(), "the model's features");
  std::vector<double> scores(documents.document_count(), 0.0);
  for (std::size_t feature = 0; feature < by_rank_.size(); ++feature) {
    if (!uses(feature)) continue;
    const double unranked = unranked_part(feature);
    if (const CodedColumn* column = documents.column(feature)) {
      std::vector<double> by_code{unranked};
      for (const double value : column->values) by_code.push_back(part(feature, value));
      documents.expect(feature + 1);
      for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += by_code[column->code(i)];
      documents.let_go(feature);
      continue;
    }
    for (std::size_t i = 0; i < scores.size(); ++i)
      scores[i] += documents.is_unranked(i, feature) ? unranked : part(feature, documents.value(i, feature));
  }
  return scores;
}

std::vector<double> SumRanker::contributions(const FeatureMatrix& documents, std::size_t document) const {
  std::vector<double> parts;
  for (std::size_t feature = 0; feature < by_rank_.size(); ++feature)
    parts.push_back(documents.is_unranked(document, feature)
                        ? unranked_part(feature)
                        : part(feature, documents.value(document, feature)));
  return parts;
}

void SumRanker::tabulate(const std::vector<Feature>& features) {
  constexpr std::size_t kTabledRanks = 1024;
  constexpr std::size_t kMostCells = std::size_t{1} << 18;  // a model file may name many lists
  by_rank_.resize(features.size());
  const std::size_t share = kMostCells / std::max<std::size_t>(count_lists(features), 1);
  const std::size_t most = std::clamp<std::size_t>(share, 1, kTabledRanks);
  for (std::size_t feature = 0; feature < features.size(); ++feature) {
    if (features[feature].kind != FeatureKind::rank) continue;
    const auto depth = static_cast<std::size_t>(std::max(features[feature].depth, 0));
    by_rank_[feature].resize(depth > 0 ? std::min(depth + 1, most) : most);
  }
  tabulate(*this);
}

void SumRanker::tabulate(const SumRanker& other) {
  by_rank_.resize(other.by_rank_.size());
  for (std::size_t feature = 0; feature < by_rank_.size(); ++feature) {
    std::vector<double>& table = by_rank_[feature];
    table.resize(other.by_rank_[feature].size());
    for (std::size_t rank = 0; rank < table.size(); ++rank)
      table[rank] = rank == 0 ? unranked_part(feature) : part(feature, -static_cast<double>(rank));
  }
}

std::string rank_table(const SumRanker& ranker, const std::vector<Feature>& features) {
  constexpr std::array<std::uint32_t, 8> kShown = {1, 2, 3, 5, 10, 20, 50, 100};
  constexpr std::string_view kTitle = "rank";
  std::vector<std::size_t> lists;
  std::size_t width = kTitle.size();
  std::uint32_t deepest = 0;
  for (std::size_t list = 0; list < features.size(); ++list) {
    if (features[list].kind != FeatureKind::rank || !ranker.uses(list)) continue;
    lists.push_back(list);
    width = std::max(width, features[list].name.size());
    deepest = std::max(deepest, features[list].depth == 0 ? kShown.back()
                                                          : static_cast<std::uint32_t>(features[list].depth));
  }
  if (lists.empty()) return {};
  const std::span shown(kShown.begin(), std::upper_bound(kShown.begin(), kShown.end(), deepest));
  std::string text = "what a list adds to a score, by the rank of the document\n";
  text += fmt::format("{:<{}}", kTitle, width);
  for (const std::uint32_t rank : shown) text += fmt::format("{:>11}", rank);
  text += fmt::format("{:>11}\n", "none");
  for (const std::size_t list : lists) {
    text += fmt::format("{:<{}}", features[list].name, width);
    for (const std::uint32_t rank : shown) text += fmt::format("{:>11.4g}", ranker.at_rank(list, rank));
    text += fmt::format("{:>11.4g}\n", ranker.unranked_part(list));
  }
  return text;
}

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
  if (!finite_number(object.if_contains("alpha"), ranking.alpha))
    return bad_field(place, "\"alpha\" must be a finite number");
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

StepRanker::StepRanker(std::vector<WeakRanking> rankings, const std::vector<Feature>& features)
    : rankings_(std::move(rankings)), tables_(step_tables(rankings_, features)) {
  for (const Feature& feature : features) kinds_.push_back(feature.kind);
  tabulate(features);
}

JsonObject StepRanker::body() const {
  JsonArray list;
  for (const WeakRanking& ranking : rankings_) {
    JsonObject item{{"feature", ranking.feature}};
    put_threshold(item, kinds_[ranking.feature], ranking.threshold);
    item["q_default"] = ranking.q_default;
    item["alpha"] = ranking.alpha;
    list.push_back(std::move(item));
  }
  return {{"weak_rankings", std::move(list)}};
}

std::string StepRanker::describe(const std::vector<Feature>& features) const {
  std::string text = "weak rankings: " + std::to_string(rankings_.size()) + "\n";
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const StepTable& table = tables_[i];
    if (table.thresholds.empty()) continue;
    text += features[i].name + "\n  unranked: " + number_text(table.unranked) + "\n";
    for (std::size_t j = table.thresholds.size(); j > 0; --j) {
      const std::string cut = threshold_text(features[i].kind, table.thresholds[j - 1]);
      text += "  " + cut + ": " + number_text(table.weights[j]) + "\n";
    }
  }
  return text;
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

Result<SharedRanker> read_step_ranker(const JsonObject& body, const std::vector<Feature>& features) {
  TRY(auto rankings, read_weak_rankings(body, features));
  return std::make_shared<StepRanker>(std::move(rankings), features);
}

}  // namespace metafuse::fusion
