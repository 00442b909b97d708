#include "lab/registry.h"

#include <utility>
#include <vector>

#include "fusion/learners/monotone_trees/boost.h"
#include "fusion/learners/rankboost/learner.h"
#include "fusion/learners/reciprocal_ranks/learner.h"
#include "fusion/learners/similarity/similarity.h"
#include "fusion/training/auto_learner.h"
#include "lab/learners/adaboost_mh/learner.h"
#include "lab/learners/baselines/baselines.h"
#include "lab/learners/mpboost/boost.h"
#include "lab/learners/online/learner.h"
#include "lab/learners/rankboost_plus/boost.h"

namespace metafuse::lab {
namespace {

std::vector<Learner> make_table() {
  std::vector<Learner> rows = {
      rankboost::learner(),      rankboost::bagged_learner(), rankboost_plus::learner(),
      monotone_trees::learner(), mpboost::learner(),
  };
  for (Learner& row : baselines::learners()) rows.push_back(std::move(row));
  rows.push_back(baselines::adaboost_ordering_learner());
  std::vector<Learner> online_rows = online::learners();
  std::vector<Learner> members = rows;
  members.insert(members.end(), online_rows.begin(), online_rows.end());
  rows.push_back(reciprocal_ranks::learner());
  rows.push_back(reciprocal_ranks::blend_learner());
  rows.push_back(adaboost_mh::learner());
  rows.push_back(adaboost_mh::ensemble_learner(std::move(members)));
  for (Learner& row : online_rows) rows.push_back(std::move(row));
  rows.push_back(auto_learner(rows));
  for (Learner& row : rows) row = similarity::with_similarity_feature(std::move(row));
  return rows;
}

}  // namespace

fusion::Learners learners() {
  static const std::vector<Learner> table = make_table();
  return table;
}

const fusion::Learner* find_learner(std::string_view name) {
  return fusion::find_learner(name, learners());
}

}  // namespace metafuse::lab
