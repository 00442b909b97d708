#include "fusion/model/sum_ranker.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/contract.h"

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
  std::string rows;
  constexpr std::string_view kTitle = "rank";
  std::size_t width = 0;
  int deepest = 0;
  for (std::size_t list = 0; list < features.size(); ++list)
    if (features[list].kind == FeatureKind::rank && ranker.uses(list)) {
      width = std::max(width, features[list].name.size());
      deepest = std::max(deepest, features[list].depth == 0 ? 100 : features[list].depth);
    }
  if (width == 0) return {};
  width = std::max(width, kTitle.size());
  const auto is_shown = [&](std::uint32_t rank) { return static_cast<int>(rank) <= deepest; };
  rows += fmt::format("{:<{}}", kTitle, width);
  for (const std::uint32_t rank : kShown)
    if (is_shown(rank)) rows += fmt::format("{:>11}", rank);
  rows += fmt::format("{:>11}\n", "none");
  for (std::size_t list = 0; list < features.size(); ++list) {
    if (features[list].kind != FeatureKind::rank || !ranker.uses(list)) continue;
    rows += fmt::format("{:<{}}", features[list].name, width);
    for (const std::uint32_t rank : kShown)
      if (is_shown(rank)) rows += fmt::format("{:>11.4g}", ranker.at_rank(list, rank));
    rows += fmt::format("{:>11.4g}\n", ranker.unranked_part(list));
  }
  return "what a list adds to a score, by the rank of the document\n" + rows;
}

}  // namespace metafuse::fusion
