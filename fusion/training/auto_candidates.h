#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fusion/data/training_set.h"
#include "fusion/learners/common/learner.h"

namespace metafuse::fusion {

/// The name of plain reciprocal rank fusion among the candidates of `auto`.
inline constexpr const char* kRrfCandidate = "RRF";

/// Bags and trees cost several RankBoosts per fold: beyond this many judged queries they gain too little.
inline constexpr std::size_t kMostQueriesForBags = 200;

/// A number of rounds that a training may be cut to, and what it is called then.
struct Cut {
  std::string name;
  std::optional<std::size_t> rounds;  ///< nothing: as the options say
};

/// One training on each fold, which may be cut to several numbers of rounds.
struct Candidate {
  const Learner* learner = nullptr;
  std::map<std::string, std::string> options;
  std::vector<Cut> cuts;    ///< to choose among, at least one
  std::string trial_bags;   ///< bags of a trial, where fewer than in the end will do; else empty
  bool is_safe = false;     ///< taken when the best is not better by more than its error
  bool is_for_few = false;  ///< also compared with fewer than 20 queries
  bool is_bold = false;     ///< stakes all on one list: taken only when beyond its error of all others
};

/// Whether bags, trees and 2.cum would cost 10 to 100 RankBoosts. They are behind weighted lists then, which
/// a handful of queries teaches already.
bool has_many_lists(const TrainingSet& set);

/// What `auto` chooses among, from the safest on: of the given rows those that suit the set.
std::vector<Candidate> auto_candidates(const TrainingSet& set, const std::vector<Learner>& learners);

}  // namespace metafuse::fusion
