#pragma once

#include <string>
#include <vector>

#include "service/config/snapshot.h"
#include "service/learning/domain_models.h"

namespace metafuse::service {

/// What the page of models shows beside the domains.
struct ModelPageState {
  bool is_off = false;               ///< no store or no folder of models
  std::vector<DomainModels> models;  ///< empty until a key allows them
  std::string done;                  ///< what an action came to
  std::string wrong;                 ///< or why not
};

std::string model_page(const Snapshot& snapshot, const ModelPageState& state);

}  // namespace metafuse::service
