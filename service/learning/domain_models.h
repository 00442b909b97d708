#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "service/config/snapshot.h"
#include "service/learning/interleaving.h"
#include "service/store/model_versions.h"
#include "service/store/store.h"

namespace metafuse::service {

/// A domain's champion and challenger, and how they compare on live traffic.
struct DomainModels {
  std::string domain;
  ModelState state;
  std::optional<InterleavingScore> score;  ///< only with a challenger
};

Result<std::vector<DomainModels>> domain_models(std::span<const LoadedDomain* const> domains,
                                                ModelVersions& versions, Store& store);

}  // namespace metafuse::service
