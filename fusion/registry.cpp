#include "fusion/registry.h"

#include <array>

#include "fusion/rankboost/learner.h"
#include "fusion/rankboost_plus/learner.h"

namespace metafuse::fusion {

std::span<const Learner> learners() {
  static const std::vector<Learner> table = {
      // One row a learner, in the order of the docs; each stands in its own folder.
      rankboost::learner(),
      rankboost_plus::learner(),
  };
  return table;
}

const Learner* find_learner(std::string_view name) {
  for (const Learner& learner : learners())
    if (learner.name == name) return &learner;
  return nullptr;
}

}  // namespace metafuse::fusion
