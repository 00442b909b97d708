#pragma once

// Shared by learners that average models trained on bootstrap samples of the queries (bags).

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/random.h"
#include "fusion/learners/common/rounds.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion {

/// Calls train(bag) once per bag on the request's threads. Any thread may train any bag, so the result for a
/// bag must depend on its number alone. Progress is reported on the caller's thread.
void for_each_bag(const TrainingRequest& request, std::size_t bags,
                  const std::function<void(std::size_t bag)>& train);

/// Draws as many queries as the set has, with replacement. Ascending.
std::vector<std::size_t> bootstrap_sample(std::size_t queries, Random random);

/// Splits the queries of a set into two random halves. Searches of the same base query fall into the
/// same half.
/// out: indices into set.queries, ascending
std::array<std::vector<std::size_t>, 2> halves_of_queries(const TrainingSet& set, Random random);

/// The time each bag may take so that all bags stay within the request's time limit. Each of the request's
/// threads trains one bag after another.
TimeLimit limit_of_bag(const TrainingRequest& request, std::size_t bags);

/// The mean of bags of weak rankings, with equal ones merged. Sorted by feature, then by threshold,
/// highest first.
std::vector<WeakRanking> mean_of_bags(std::span<const std::span<const WeakRanking>> bags);

/// Finds the number of rounds that is best on validation data. The first rounds of a bag are what training
/// with fewer rounds would give, so a single training per bag measures every number of rounds. The smallest
/// of equally good numbers is chosen; `patience` ends the search as it would end training.
///
/// in: request - with validation data and a measure; add_round - adds to each validation document's score
///     what one round (from 0) of all bags contributes
BestRound best_rounds_of_bags(
    const TrainingRequest& request, std::size_t most_rounds,
    const std::function<void(std::size_t round, std::vector<double>& scores)>& add_round);

/// Stores the result of the validation in a model's record.
/// out: a line about it for the summary
std::string record_best_rounds(const TrainingRequest& request, const BestRound& best, JsonObject& training);

}  // namespace metafuse::fusion
