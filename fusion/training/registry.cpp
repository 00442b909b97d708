#include "fusion/training/registry.h"

#include <array>

#include "fusion/learners/adaboost_mh/learner.h"
#include "fusion/learners/baselines/learners.h"
#include "fusion/learners/monotone_trees/learner.h"
#include "fusion/learners/mpboost/learner.h"
#include "fusion/learners/online/learner.h"
#include "fusion/learners/rankboost/bagged.h"
#include "fusion/learners/rankboost/learner.h"
#include "fusion/learners/rankboost_plus/learner.h"

namespace metafuse::fusion {

std::span<const Learner> learners() {
  static const std::vector<Learner> table = [] {
    // One row a learner, in the order of the docs; each stands in its own folder.
    std::vector<Learner> rows = {
        rankboost::learner(),      rankboost::bagged_learner(), rankboost_plus::learner(),
        monotone_trees::learner(), mpboost::learner(),
    };
    for (Learner& row : baselines::learners()) rows.push_back(std::move(row));
    rows.push_back(adaboost_mh::learner());
    rows.push_back(adaboost_mh::ensemble_learner());
    for (Learner& row : online::learners()) rows.push_back(std::move(row));
    return rows;
  }();
  return table;
}

const Learner* find_learner(std::string_view name) {
  for (const Learner& learner : learners())
    if (learner.name == name) return &learner;
  return nullptr;
}

}  // namespace metafuse::fusion
