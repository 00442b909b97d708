#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/result.h"
#include "experiments/movies/measures.h"
#include "experiments/movies/ratings.h"
#include "fusion/data/training_set.h"

namespace metafuse::experiments::movies {

/// One target viewer: half of the movies to learn from, half to predict (Freund et al. 2003, sec. 6.2.1), and
/// other viewers as ranking features.
struct Task {
  std::vector<std::size_t> features;  ///< viewers
  std::vector<std::size_t> train;     ///< movies
  std::vector<std::size_t> test;
  std::vector<double> train_stars;
  std::vector<double> test_stars;
};

/// out: a task whose halves are drawn with `random`
Task make_task(const Ratings& ratings, std::vector<std::size_t> features, std::size_t target, Random random);

/// False when a half holds a single grade: nothing to learn from, or nothing to measure by.
bool has_feedback(const Task& task);

/// The features of some movies, stars as values, not rated as unranked.
fusion::FeatureMatrix matrix_of(const Ratings& ratings, std::span<const std::size_t> features,
                                std::span<const std::size_t> movies);

/// The movies of the training half alone: what RankBoost learns from.
fusion::TrainingSet training_half(const Ratings& ratings, const Task& task);

/// Every movie, with the training half in feedback: the baselines use the viewers' other ratings for their
/// means.
fusion::TrainingSet all_movies(const Ratings& ratings, const Task& task);

}  // namespace metafuse::experiments::movies
