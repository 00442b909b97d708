#include "service/learning/stored_features.h"

#include <algorithm>
#include <string_view>

#include "service/search/list_fusion.h"

namespace metafuse::service {
namespace {

using Ids = std::vector<std::string_view>;

std::vector<Ids> ids_of(const StoredSearch& search) {
  std::vector<Ids> out;
  for (const StoredList& list : search.lists) {
    Ids& ids = out.emplace_back();
    for (const std::uint32_t document : list.documents) ids.push_back(search.documents[document]);
  }
  return out;
}

/// The largest depth of the search's lists; 0 without lists.
int depth_of(const StoredSearch& search) {
  int depth = 0;
  for (const StoredList& list : search.lists) depth = std::max(depth, list.depth);
  return depth;
}

}  // namespace

std::vector<fusion::Feature> rank_features(const StoredSearch& search) {
  std::vector<fusion::Feature> out;
  for (const StoredList& list : search.lists) {
    const auto is_same = [&](const fusion::Feature& feature) { return feature.name == list.feature; };
    if (std::none_of(out.begin(), out.end(), is_same))
      out.push_back({list.feature, fusion::FeatureKind::rank, list.depth});
  }
  return out;
}

std::size_t common_features(const StoredSearch& search, const std::vector<fusion::Feature>& features) {
  return static_cast<std::size_t>(
      std::count_if(features.begin(), features.end(), [&](const fusion::Feature& feature) {
        return std::any_of(search.lists.begin(), search.lists.end(),
                           [&](const StoredList& list) { return list.feature == feature.name; });
      }));
}

fusion::QueryInstances stored_instances(const StoredSearch& search,
                                        const std::vector<fusion::Feature>& features) {
  std::vector<std::string_view> names;
  for (const StoredList& list : search.lists) names.push_back(list.feature);
  const FeatureColumns all = feature_columns(names, features);
  const std::vector<Ids> ids = ids_of(search);
  std::vector<fusion::RankedIds> lists;  // only lists that a feature reads
  FeatureColumns columns{{}, all.count};
  for (std::size_t j = 0; j < ids.size(); ++j) {
    if (all.of_list[j] == FeatureColumns::kNone) continue;
    lists.emplace_back(ids[j]);
    columns.of_list.push_back(all.of_list[j]);
  }
  const std::vector<int> depths(lists.size(), 0);
  fusion::QueryInstances instances = fusion::collect_instances(lists, depths);
  if (const int depth = depth_of(search); depth > 0)
    mask_later_windows(instances, depth);  // as when it was served
  return instances_by_feature(instances, columns);
}

}  // namespace metafuse::service
