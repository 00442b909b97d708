#pragma once

// What the learner `auto` chooses among: options, and the candidates whose trials measure them.

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

/// Bags and trees cost several RankBoosts per fold. With more judged queries than this they gain too little.
inline constexpr std::size_t kMostQueriesForBags = 200;

/// With fewer base queries that have a relevant document in a list, only the safe options are compared: the
/// best of many would win by luck.
inline constexpr std::size_t kFewestForRich = 20;

/// Extracts from a trial's model the model that fewer rounds, or one component alone, would have given. One
/// training thereby measures several options.
using PartOfModel = std::function<SharedRanker(const Model& model)>;

/// One option to choose, and how it is trained once it is chosen.
struct Option {
  std::string name;
  const Learner* learner = nullptr;
  std::map<std::string, std::string> options;
  PartOfModel part;            ///< taken from the trial's model; empty: all of it
  bool is_safe = false;        ///< taken unless the best option is better by more than the error
  bool is_for_few = false;     ///< also compared with fewer than kFewestForRich base queries
  bool is_from_prior = false;  ///< trained from what other domains have learned
  /// Relies on a single list: taken only if it beats all other options by more than the error.
  bool is_bold = false;
};

/// One training per fold, which measures one or more options.
struct Candidate {
  const Learner* learner = nullptr;
  std::map<std::string, std::string> options;  ///< of the trial
  std::vector<Option> of;                      ///< the options it measures, at least one
  /// Continues after the first fold only if it is ahead of the first safe option there.
  bool is_costly = false;
  bool is_from_prior = false;  ///< as the options it measures
};

/// Whether there are so many lists that bags, trees and 2.cum would cost 10 to 100 RankBoosts. With so many
/// lists they do worse than weighted lists, which need only a handful of judged queries.
bool has_many_lists(const TrainingSet& set);

/// What `auto` chooses among, the safest first: options of the given learners that suit the set.
/// in: rrf_k - k of RRF, alone and in the candidates that start from it; has_prior - other domains have
///     learned something, and what starts from it is then the safest
std::vector<Candidate> auto_candidates(const TrainingSet& set, const std::vector<Learner>& learners,
                                       double rrf_k, bool has_prior = false);

}  // namespace metafuse::fusion
