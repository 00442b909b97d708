#include "fusion/model/sum_ranker.h"

#include <algorithm>

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
  for (std::size_t feature = 0; feature < features.size(); ++feature) {
    if (features[feature].kind != FeatureKind::rank) continue;
    const auto depth = static_cast<std::size_t>(std::max(features[feature].depth, 0));
    by_rank_[feature].resize(depth > 0 ? std::min(depth + 1, kTabledRanks) : kTabledRanks);
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

}  // namespace metafuse::fusion
