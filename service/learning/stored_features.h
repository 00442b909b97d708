#pragma once

#include <cstddef>
#include <vector>

#include "fusion/data/feature_matrix.h"
#include "fusion/data/features.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

/// The rank features of a search, each once, in the order of its lists.
std::vector<fusion::Feature> rank_features(const StoredSearch& search);

/// The instances of a search as a model's rank features see them, by the same function as when it was served:
/// of several lists of one feature (a template's own and a caller's variants) the best rank counts; a feature
/// without a list leaves every document unranked.
///
/// out: views into the search; documents that no list of these features holds are left out
fusion::QueryInstances stored_instances(const StoredSearch& search,
                                        const std::vector<fusion::Feature>& features);

/// How many of the rank features the search has a list for.
std::size_t common_features(const StoredSearch& search, const std::vector<fusion::Feature>& features);

}  // namespace metafuse::service
