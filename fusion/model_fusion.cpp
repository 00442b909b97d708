#include "fusion/model_fusion.h"

#include <algorithm>

#include "fusion/features.h"

namespace metafuse::fusion {
namespace {

/// Rows are the query's documents ascending by id, so that a model that depends on the order of rows sees the canonical
/// one; row_of gives each document's row.
std::vector<std::size_t> rows_by_id(const QueryLists& query) {
  std::vector<std::uint32_t> order(query.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return query.documents[a] < query.documents[b]; });
  std::vector<std::size_t> row_of(query.size());
  for (std::size_t row = 0; row < order.size(); ++row) row_of[order[row]] = row;
  return row_of;
}

FeatureMatrix matrix_of(const std::vector<Feature>& features, const std::vector<std::size_t>& list_of,
                        const QueryLists& query, const std::vector<std::size_t>& row_of) {
  FeatureMatrix matrix(features, query.size());
  std::vector<std::size_t> rank_features;
  for (std::size_t feature = 0; feature < features.size(); ++feature)
    if (!is_derived(features[feature])) rank_features.push_back(feature);
  std::vector<std::uint32_t> ranks(query.size() * rank_features.size(), 0);
  for (std::size_t i = 0; i < rank_features.size(); ++i) {
    const std::size_t feature = rank_features[i];
    if (list_of[feature] == kMissing) continue;
    const auto& list = query.lists[list_of[feature]];
    const auto depth = static_cast<std::size_t>(features[feature].depth);
    const std::size_t length = depth > 0 ? std::min(depth, list.size()) : list.size();
    for (std::size_t place = 0; place < length; ++place) {
      const std::size_t row = row_of[list[place].document];
      matrix.set(row, feature, -static_cast<double>(place + 1));
      ranks[row * rank_features.size() + i] = static_cast<std::uint32_t>(place + 1);
    }
  }
  for (std::size_t feature = 0; feature < features.size(); ++feature) {
    if (!is_derived(features[feature])) continue;
    for (std::size_t row = 0; row < query.size(); ++row)
      matrix.set(row, feature,
                 derived_value(features[feature],
                               std::span(ranks).subspan(row * rank_features.size(), rank_features.size())));
  }
  return matrix;
}

}  // namespace

Result<ScoreQuery> score_with_model(const Model& model, const std::vector<std::string>& names,
                                    bool may_be_missing) {
  for (const Feature& feature : model.features)
    if (feature.kind != FeatureKind::rank && !is_derived(feature))
      return fail(Code::bad_data, "the model's feature \"" + feature.name +
                                      "\" is a value, not a rank; use metafuse score with a LETOR file");
  auto matched = match_features(model, names, may_be_missing);
  if (!matched) return matched.error();
  return ScoreQuery([features = model.features, ranker = model.ranker, list_of = *matched](const QueryLists& query) {
    const std::vector<std::size_t> row_of = rows_by_id(query);
    const std::vector<double> by_row = ranker->score(matrix_of(features, list_of, query, row_of));
    std::vector<double> scores(query.size());
    for (std::size_t document = 0; document < scores.size(); ++document) scores[document] = by_row[row_of[document]];
    return scores;
  });
}

}  // namespace metafuse::fusion
