#pragma once

// Learns which lists are worth asking for: an order of lists in which each adds most to what those before it
// bring, and how clear the first result must be for the first lists of the order to suffice.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/learners/common/learner.h"
#include "fusion/model/list_choice.h"

namespace metafuse::fusion {

/// Orders lists by greedy choice; ListChoice::settled stays empty. Some lists are worth to a query the sum,
/// over relevant documents, of the grade times 1/log2(1 + the best rank in them), divided by the same for
/// all lists. This function is monotone and submodular, so the greedy choice reaches at least 1 - 1/e of the
/// best one. A document that a user preferred to another counts like one of grade 1. A list's gain is its
/// mean over the queries that asked for it, drawn towards 0 as if two more had brought nothing.
///
/// in:     others - names of rank features that nobody asks for, such as those of rerankers
/// out:    every list of the set, that is, every other rank feature that is not derived; none if no query has
///         a relevant document
/// cost:   O(cells + lists x ranked relevant documents)
/// source: Nemhauser, Wolsey, Fisher 1978
ListChoice order_lists(const TrainingSet& set, std::span<const std::string> others = {});

/// The set as it is when only some of its lists were asked for.
///
/// in:     lists - indices of rank features; the set's last features may be derived
TrainingSet with_lists_only(const TrainingSet& set, std::span<const std::uint64_t> lists);

/// The score of a document that no list holds, below those of all models.
inline constexpr double kNotListed = -1e300;

/// A model's scores of such a set.
std::vector<double> scores_of_listed(const Ranker& ranker, const TrainingSet& some);

/// How many lists at most a search may ask for first.
inline constexpr std::size_t kMostFirstLists = 63;

struct ListChoiceOptions {
  double may_lose = 0.002;  ///< of the mean value of a ranking (from 0 to 1), by what is not asked for
  std::vector<std::string> others = {};  ///< as order_lists() takes them
};

/// Gives a trained model its order of lists, and for up to kMostFirstLists lists of it the lead of the first
/// result's score over the second's with which they suffice: the least with which stopping there loses at
/// most may_lose, in the mean over queries whose model has not seen them. A ranking is worth the sum of its
/// first ten documents' grades times 1/log2(1 + place), divided by that of the best ranking. Queries of
/// which not all lists were asked say nothing about this.
///
/// out:    without kFewestSettling such queries, or with features that are values, only the order
/// errors: those of the learner
/// cost:   five trainings, and scoring all queries once per number of lists
Result<void> choose_lists(const TrainingRequest& request, const Learner& learner,
                          const ListChoiceOptions& options, TrainingResult& result);

inline constexpr std::size_t kFewestSettling = 20;

}  // namespace metafuse::fusion
