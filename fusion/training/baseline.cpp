#include "fusion/training/baseline.h"

#include <algorithm>

#include "core/contract.h"
#include "fusion/unsupervised/fusion_method.h"

namespace metafuse::fusion {

QueryLists lists_of(const FeatureMatrix& matrix, std::size_t begin, std::size_t end) {
  QueryLists query;
  query.documents.resize(end - begin);
  for (std::size_t feature = 0; feature < matrix.feature_count(); ++feature) {
    if (matrix.features()[feature].kind != FeatureKind::rank) continue;
    std::vector<ListEntry> list;
    for (std::size_t row = begin; row < end; ++row)
      if (!matrix.is_unranked(row, feature))
        list.push_back({static_cast<std::uint32_t>(row - begin), matrix.value(row, feature)});
    std::stable_sort(list.begin(), list.end(),
                     [](const ListEntry& a, const ListEntry& b) { return a.score > b.score; });
    query.lists.push_back(std::move(list));
  }
  return query;
}

std::vector<Baseline> rank_baselines() {
  std::vector<Baseline> out;
  for (const char* name : {"rrf", "combmnz", "borda", "searxng"}) {
    const FusionMethod* method = find_fusion_method(name);
    require(method != nullptr, "a baseline is a fusion method");
    out.push_back({name, [method](const FeatureMatrix& matrix, std::size_t begin, std::size_t end) {
                     return fuse_scores(*method, lists_of(matrix, begin, end), {});
                   }});
  }
  return out;
}

}  // namespace metafuse::fusion
