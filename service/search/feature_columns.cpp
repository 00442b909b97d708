#include "service/search/feature_columns.h"

#include <cstdint>
#include <map>

namespace metafuse::service {

FeatureColumns feature_columns(const std::vector<std::string_view>& list_names,
                               const std::vector<fusion::Feature>& features) {
  FeatureColumns out;
  std::map<std::string_view, std::size_t> column;
  for (const fusion::Feature& feature : features)
    if (!fusion::is_derived(feature)) column[feature.name] = out.count++;
  for (const std::string_view name : list_names) {
    const auto at = column.find(name);
    out.of_list.push_back(at == column.end() ? FeatureColumns::kNone : at->second);
  }
  return out;
}

fusion::QueryInstances instances_by_feature(const fusion::QueryInstances& by_list,
                                            const FeatureColumns& columns) {
  fusion::QueryInstances out;
  out.documents = by_list.documents;
  out.lists = columns.count;
  out.ranks.assign(by_list.documents.size() * columns.count, 0);
  for (std::size_t i = 0; i < by_list.documents.size(); ++i) {
    const auto ranks = by_list.ranks_of(i);
    for (std::size_t j = 0; j < ranks.size(); ++j) {
      if (columns.of_list[j] == FeatureColumns::kNone || ranks[j] == 0) continue;
      std::uint32_t& best = out.ranks[i * columns.count + columns.of_list[j]];
      if (best == 0 || ranks[j] < best) best = ranks[j];
    }
  }
  return out;
}

}  // namespace metafuse::service
