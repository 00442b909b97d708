#pragma once

#include <cstddef>
#include <vector>

#include "fusion/data/feature_matrix.h"
#include "fusion/data/features.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

/// A search's rank features, each once, in the order of its lists.
std::vector<fusion::Feature> rank_features(const StoredSearch& search);

/// The instances of a search under a model's rank features, made by the same function as when the search was
/// served. If several lists belong to one feature (a template's own and a caller's variants), the best rank
/// counts. A feature without a list leaves every document unranked.
///
/// out: views into the search; documents that are in no list of these features are left out
fusion::QueryInstances stored_instances(const StoredSearch& search,
                                        const std::vector<fusion::Feature>& features);

/// For how many of the rank features the search has a list.
std::size_t common_features(const StoredSearch& search, const std::vector<fusion::Feature>& features);

}  // namespace metafuse::service
