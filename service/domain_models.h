#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "service/interleaving.h"
#include "service/model_versions.h"
#include "service/snapshot.h"
#include "service/store.h"

namespace metafuse::service {

/// A domain's champion and challenger, and how they fare against each other on live traffic.
struct DomainModels {
  std::string domain;
  ModelState state;
  std::optional<InterleavingScore> score;  ///< with a challenger only
};

/// Of every domain, by name.
Result<std::vector<DomainModels>> domain_models(const Snapshot& snapshot, ModelVersions& versions,
                                                Store& store);

}  // namespace metafuse::service
