#include "fusion/unsupervised/matrix_lists.h"

#include <algorithm>

#include "core/contract.h"

namespace metafuse::fusion {

QueryLists lists_of_rows(const FeatureMatrix& matrix, std::size_t begin, std::size_t end,
                         std::span<const std::string> ids) {
  QueryLists query;
  for (std::size_t row = begin; row < end; ++row)
    query.documents.push_back(ids.empty() ? std::string_view() : std::string_view(ids[row]));
  for (std::size_t feature = 0; feature < matrix.feature_count(); ++feature) {
    if (matrix.features()[feature].kind != FeatureKind::rank) continue;
    auto& list = query.lists.emplace_back();
    for (std::size_t row = begin; row < end; ++row)
      if (!matrix.is_unranked(row, feature))
        list.push_back({static_cast<std::uint32_t>(row - begin), -1.0 / matrix.value(row, feature)});
    std::stable_sort(list.begin(), list.end(),
                     [](const ListEntry& a, const ListEntry& b) { return a.score > b.score; });
  }
  return query;
}

Baseline baseline_of(const FusionMethod& method) {
  require(!method.is_supervised && !method.needs_weights, "a baseline needs no training");
  FusionOptions options;
  if (method.uses_scores) options.normalise = Normalisation::rank;
  return {method.name, [&method, options](const FeatureMatrix& matrix, std::size_t begin, std::size_t end) {
            return fuse_scores(method, lists_of_rows(matrix, begin, end, {}), options);
          }};
}

}  // namespace metafuse::fusion
