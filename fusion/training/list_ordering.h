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

/// Orders lists by greedy choice; ListChoice::settled stays empty. Each list adds most to the worth of the
/// rankings that a model makes of those before it. A ranking is worth the sum of its first thirty documents'
/// grades times 1/log2(1 + place), divided by that of the best ranking. A document that a user preferred to
/// another counts like one of grade 1. A list's gain is its mean over the queries that asked for it, drawn
/// towards 0 as if two more had brought nothing. A document's score is taken to be the sum of what each list
/// alone gives it, which is exact for models that are sums over lists.
///
/// in:     ranker - of models with the set's features; others - names of rank features that nobody asks for,
///         such as those of rerankers
/// out:    every list of the set, that is, every other rank feature that is not derived; none if no query has
///         a relevant document in a list
/// cost:   O(ranked documents x (features + lists x log documents))
/// source: the greedy choice of Nemhauser, Wolsey, Fisher 1978; this worth is not quite submodular
ListChoice order_lists(const TrainingSet& set, const Ranker& ranker,
                       std::span<const std::string> others = {});

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

/// Gives a trained model its order of lists: that of order_lists(), but where possible also by models that
/// have not seen the queries, because a model ranks its own queries well from too few lists. And for up to
/// kMostFirstLists lists of it the lead of the first result's score over the second's with which they
/// suffice: the least with which stopping there loses at most may_lose, in the mean over queries whose model
/// has not seen them. A ranking is worth what it is to order_lists(), but by its first ten documents. Queries
/// of which not all lists were asked say nothing about this.
///
/// out:    without kFewestSettling such queries, or with features that are values, only the order
/// errors: those of the learner
/// cost:   five trainings, and scoring all queries once per number of lists
Result<void> choose_lists(const TrainingRequest& request, const Learner& learner,
                          const ListChoiceOptions& options, TrainingResult& result);

inline constexpr std::size_t kFewestSettling = 20;

}  // namespace metafuse::fusion
