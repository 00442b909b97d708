#include "fusion/training/registry.h"

#include <algorithm>
#include <vector>

#include "fusion/learners/adaboost_mh/ranker.h"
#include "fusion/learners/baselines/baselines.h"
#include "fusion/learners/monotone_trees/boost.h"
#include "fusion/learners/mpboost/boost.h"
#include "fusion/learners/online/learner.h"
#include "fusion/learners/rankboost/learner.h"
#include "fusion/learners/rankboost_plus/boost.h"
#include "fusion/learners/reciprocal_ranks/learner.h"
#include "fusion/training/auto_learner.h"

namespace metafuse::fusion {
namespace {

/// The learners; each is defined in a folder of its own.
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
  // The outermost wrapper, so that learners that train others see this feature's values like those of
  // any other.
  for (Learner& row : rows) row = baselines::with_similarity_feature(std::move(row));
  return rows;
}

ReadRanker reader_of(std::string_view name) {
  const Learner* learner = find_learner(name);
  return learner == nullptr ? ReadRanker() : learner->read;
}

}  // namespace

std::span<const Learner> learners() {
  static const std::vector<Learner> table = make_table();
  return table;
}

const Learner* find_learner(std::string_view name) {
  const auto at = std::ranges::find(learners(), name, &Learner::name);
  return at == learners().end() ? nullptr : &*at;
}

Result<Model> parse_model(std::string_view text, std::string_view name) {
  return parse_model(text, name, reader_of);
}

Result<Model> read_model(const std::string& path) {
  return read_model(path, reader_of);
}

}  // namespace metafuse::fusion
