#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "fusion/data/feature_matrix.h"
#include "fusion/data/features.h"

namespace metafuse::service {

/// Which rank feature each list fills, counted among the features that are not derived.
struct FeatureColumns {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::vector<std::size_t> of_list;  ///< kNone for a list that no feature reads
  std::size_t count = 0;
};

/// in: list_names - the feature that each list stands for; several may stand for one
FeatureColumns feature_columns(const std::vector<std::string_view>& list_names,
                               const std::vector<fusion::Feature>& features);

/// The instances as a model's features see them, served and learned from feedback alike: of several lists of
/// one feature (the template's own and a caller's variants) the best rank counts, and a feature without a
/// list leaves every document unranked.
fusion::QueryInstances instances_by_feature(const fusion::QueryInstances& by_list,
                                            const FeatureColumns& columns);

}  // namespace metafuse::service
