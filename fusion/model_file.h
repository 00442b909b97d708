#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "fusion/feature_matrix.h"
#include "fusion/ranker.h"

namespace metafuse::fusion {

/// A model as it stands in a file:
/// {"format":"metafuse-model","version":1,"learner","features":[{"name","kind","depth"}],"unranked","body","training"}
struct Model {
  std::string learner;
  std::vector<Feature> features;
  std::shared_ptr<const Ranker> ranker;
  JsonObject training;  ///< options, counts and final losses; nothing that varies between equal runs
};

}  // namespace metafuse::fusion
