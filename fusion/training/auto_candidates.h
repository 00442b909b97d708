#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fusion/data/training_set.h"
#include "fusion/learners/common/learner.h"
#include "fusion/model/model_file.h"

namespace metafuse::fusion {

/// The name of plain reciprocal rank fusion among the candidates of `auto`.
inline constexpr const char* kRrfCandidate = "RRF";

/// Bags and trees cost several RankBoosts per fold: beyond this many judged queries they gain too little.
inline constexpr std::size_t kMostQueriesForBags = 200;

/// With fewer measured queries the safe options alone are compared: among many the luckiest would win.
inline constexpr std::size_t kFewestForRich = 20;

/// What a trial's model says of how a learner with fewer rounds, or a part of it alone, would have done.
using PartOfModel = std::function<std::shared_ptr<const Ranker>(const Model& model)>;

/// One thing to choose, and how it is trained once it is chosen.
struct Option {
  std::string name;
  const Learner* learner = nullptr;
  std::map<std::string, std::string> options;
  PartOfModel part;         ///< of the model of its candidate's trial; empty: all of it
  bool is_safe = false;     ///< taken when the best is not better by more than its error
  bool is_for_few = false;  ///< also compared with fewer than 20 queries
  bool is_bold = false;     ///< stakes all on one list: taken only when beyond its error of all others
};

/// One training on each fold, which measures several options.
struct Candidate {
  const Learner* learner = nullptr;
  std::map<std::string, std::string> options;  ///< of the trial
  std::vector<Option> of;                      ///< at least one
  bool is_costly = false;  ///< goes on after the first fold only where it is ahead of the safe ones there
};

/// Whether bags, trees and 2.cum would cost 10 to 100 RankBoosts. They are behind weighted lists then, which
/// a handful of queries teaches already.
bool has_many_lists(const TrainingSet& set);

/// What `auto` chooses among, from the safest on: of the given rows those that suit the set.
std::vector<Candidate> auto_candidates(const TrainingSet& set, const std::vector<Learner>& learners);

}  // namespace metafuse::fusion
