#include "fusion/model/sum_ranker.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/contract.h"
#include "fusion/data/features.h"
#include "fusion/model/state_fields.h"

namespace metafuse::fusion {
namespace {

constexpr std::string_view kOnTop = "and on top\n";

/// Adds to each score what the list contributes for the document's rank.
void add_list_scores(const SumRanker& ranker, std::size_t list, const QueryInstances& instances,
                     std::vector<double>& scores) {
  const std::span<const double> by_rank = ranker.by_rank(list);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::uint32_t rank = instances.ranks[i * instances.lists + list];
    scores[i] += rank < by_rank.size() ? by_rank[rank] : ranker.at_rank(list, rank);
  }
}

std::string text_of_steps(std::size_t rankings, std::span<const StepTable> tables,
                          const std::vector<Feature>& features) {
  return fmt::format("weak rankings: {}\n", rankings) + describe_steps(tables, features);
}

}  // namespace

SumRanker::SumRanker(SumParts parts, const std::vector<Feature>& features) : parts_(std::move(parts)) {
  require(parts_.fused || parts_.steps || parts_.values, "a sum of something");
  for (const Feature& feature : features) kinds_.push_back(feature.kind);
  if (parts_.fused) fused_steps_ = step_tables(parts_.fused->steps, features);
  if (parts_.steps) steps_ = step_tables(*parts_.steps, features);
  if (parts_.values) lines_ = value_lines(*parts_.values, features.size());
  tabulate(features);
}

SumRanker::SumRanker(std::vector<WeakRanking> steps, const std::vector<Feature>& features)
    : SumRanker(SumParts{{}, std::move(steps), {}}, features) {}

bool SumRanker::uses(std::size_t feature) const {
  return (parts_.fused &&
          (parts_.fused->weights[feature] != 0.0 || !fused_steps_[feature].thresholds.empty())) ||
         (parts_.steps && !steps_[feature].thresholds.empty()) || (parts_.values && lines_[feature].is_used);
}

double SumRanker::fused_part(std::size_t feature, double value) const {
  const double step = fused_steps_[feature].at(value);
  const double weight = parts_.fused->weights[feature];
  return weight == 0.0 ? step : step + weight * reciprocal_rank_share(-value, parts_.fused->k);
}

double SumRanker::learned_part(std::size_t feature, double value) const {
  if (!parts_.values) return steps_[feature].at(value);
  const double line = lines_[feature].at(value);
  return parts_.steps ? steps_[feature].at(value) + line : line;
}

double SumRanker::part(std::size_t feature, double value) const {
  if (!parts_.fused) return learned_part(feature, value);
  const double fused = fused_part(feature, value);
  return parts_.steps || parts_.values ? fused + learned_part(feature, value) : fused;
}

double SumRanker::unranked_part(std::size_t feature) const {
  double part = 0.0;
  if (parts_.values) part = lines_[feature].unranked();
  if (parts_.steps) part = parts_.values ? steps_[feature].unranked + part : steps_[feature].unranked;
  if (!parts_.fused) return part;
  const double fused = fused_steps_[feature].unranked;
  return parts_.steps || parts_.values ? fused + part : fused;
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
    std::vector<double>& table = by_rank_[feature];
    table.resize(depth > 0 ? std::min(depth + 1, most) : most);
    table[0] = unranked_part(feature);
    for (std::size_t rank = 1; rank < table.size(); ++rank)
      table[rank] = part(feature, -static_cast<double>(rank));
  }
}

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

std::vector<double> SumRanker::score_instances(const std::vector<Feature>& features,
                                               const QueryInstances& instances) const {
  std::vector<double> scores(instances.documents.size(), 0.0);
  for (std::size_t list = 0; list < instances.lists; ++list)
    if (uses(list)) add_list_scores(*this, list, instances, scores);
  if (instances.lists == features.size()) return scores;
  const std::size_t derived = features.size() - instances.lists;
  const std::vector<double> values = derived_values(features, instances);
  for (std::size_t i = 0; i < scores.size(); ++i)
    for (std::size_t d = 0; d < derived; ++d) {
      const std::size_t feature = instances.lists + d;
      if (!uses(feature)) continue;
      const double value = values[i * derived + d];
      scores[i] += std::isnan(value) ? unranked_part(feature) : part(feature, value);
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

JsonObject SumRanker::body() const {
  JsonObject fused;
  if (parts_.fused) {
    fused["weak_rankings"] = weak_rankings_json(parts_.fused->steps, kinds_);
    fused["k"] = parts_.fused->k;
    fused["weights"] = JsonArray(parts_.fused->weights.begin(), parts_.fused->weights.end());
    if (!parts_.steps && !parts_.values) return fused;
  }
  JsonObject steps;
  if (parts_.steps) steps["weak_rankings"] = weak_rankings_json(*parts_.steps, kinds_);
  if (!parts_.fused && !parts_.values) return steps;
  JsonObject values;
  if (parts_.values) values["value_rankings"] = value_rankings_json(*parts_.values);
  if (!parts_.fused && !parts_.steps) return values;
  return {{"fused", std::move(fused)}, {"steps", std::move(steps)}, {"values", std::move(values)}};
}

std::string SumRanker::describe(const std::vector<Feature>& features) const {
  std::string text;
  if (const auto& fused = parts_.fused) {
    text = fmt::format("score = sum of weight / ({:g} + rank)\n", fused->k);
    for (std::size_t feature = 0; feature < features.size(); ++feature)
      text += fmt::format("  {}: weight {:g}\n", features[feature].name, fused->weights[feature]);
    if (!fused->steps.empty())
      text += std::string(kOnTop) + text_of_steps(fused->steps.size(), fused_steps_, features);
  }
  if (parts_.steps) {
    if (!text.empty()) text += kOnTop;
    text += text_of_steps(parts_.steps->size(), steps_, features);
  }
  if (parts_.values) {
    if (!text.empty()) text += kOnTop;
    text += fmt::format("weak rankings: {}\n", parts_.values->size()) + describe_lines(lines_, features);
  }
  return text;
}

namespace {

Result<SumParts> read_fused(const JsonObject& body, const std::vector<Feature>& features) {
  FusedPart fused;
  if (!finite_number(body.if_contains("k"), fused.k) || fused.k < 0.0)
    return fail(Code::bad_data, "body.k: must be a number of at least 0; train the model again");
  const Json* list = body.if_contains("weights");
  if (list == nullptr || !list->is_array() || list->get_array().size() != features.size())
    return fail(Code::bad_data, "body.weights: must be one number per feature; train the model again");
  for (std::size_t feature = 0; feature < features.size(); ++feature)
    if (double& weight = fused.weights.emplace_back();
        !finite_number(&list->get_array()[feature], weight) || !is_moderate(weight) ||
        (features[feature].kind != FeatureKind::rank && weight != 0.0))
      return fail(
          Code::bad_data,
          fmt::format(
              "body.weights[{}]: must be a number from -1e100 to 1e100, and 0 for a feature that is not a "
              "rank; train the model again",
              feature));
  TRY(fused.steps, read_weak_rankings(body, features));
  return SumParts{std::move(fused), {}, {}};
}

Result<const JsonObject*> part_of(const JsonObject& body, std::string_view key) {
  const Json* part = body.if_contains(key);
  if (part == nullptr || !part->is_object())
    return fail(Code::bad_data, fmt::format("body.{}: must be an object; train the model again", key));
  return &part->get_object();
}

Result<SumParts> read_parts(const JsonObject& body, const std::vector<Feature>& features) {
  SumParts parts;
  if (body.contains("fused") || body.contains("steps")) {
    TRY(const JsonObject* fused, part_of(body, "fused"));
    TRY(const JsonObject* steps, part_of(body, "steps"));
    TRY(const JsonObject* values, part_of(body, "values"));
    TRY(parts, read_fused(*fused, features));
    TRY(parts.steps, read_weak_rankings(*steps, features));
    TRY(parts.values, read_value_rankings(*values, features));
  } else if (body.contains("k")) {
    return read_fused(body, features);
  } else if (body.contains("weak_rankings")) {
    TRY(parts.steps, read_weak_rankings(body, features));
  } else {
    TRY(parts.values, read_value_rankings(body, features));
  }
  return parts;
}

}  // namespace

Result<SumRanker> read_sum_ranker(const JsonObject& body, const std::vector<Feature>& features) {
  TRY(auto parts, read_parts(body, features));
  return SumRanker(std::move(parts), features);
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

}  // namespace metafuse::fusion
