#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/random.h"
#include "fusion/learners/common/early_stop.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion {

/// Calls `train(bag)` once for every bag on the request's threads. Which thread trains what is not fixed: a
/// bag must be a function of its number alone. Progress is reported on the caller's thread.
void for_each_bag(const TrainingRequest& request, std::size_t bags,
                  const std::function<void(std::size_t bag)>& train);

/// As many queries as the set has, drawn with replacement, ascending.
std::vector<std::size_t> bootstrap_sample(std::size_t queries, Random random);

/// Rows of the queries in two halves at random, several searches of one base query in the same one.
/// in:     set - what stands before '#' in a query's id names its base query
/// out:    places in set.queries, ascending
std::array<std::vector<std::size_t>, 2> halves_of_queries(const TrainingSet& set, Random random);

/// What a bag may spend of the request's time limit, 0 for no limit: bags are trained on the request's
/// threads, one after the other on each.
double time_of_bag(const TrainingRequest& request, std::size_t bags);

/// The mean of bags of weak rankings, equal ones merged: features ascending, thresholds from the highest.
std::vector<WeakRanking> mean_of_bags(std::span<const std::span<const WeakRanking>> bags);

/// A bag's first rounds are what it would have learned with fewer of them, so one training of each bag
/// tells every number of rounds. The first of equal values is kept; `patience` ends the search as it would
/// end training.
///
/// in:     request - with validation data and a measure; add_round - adds what one round of all bags, from 0
///         on, says of each validation document
BestRound best_rounds_of_bags(
    const TrainingRequest& request, std::size_t most_rounds,
    const std::function<void(std::size_t round, std::vector<double>& scores)>& add_round);

/// Puts what validation chose into a model's record.
/// out:    the line about it for people
std::string record_best_rounds(const TrainingRequest& request, const BestRound& best, JsonObject& training);

}  // namespace metafuse::fusion
