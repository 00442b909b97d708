#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/result.h"
#include "fusion/data/training_set.h"

namespace metafuse::experiments {

/// The file as it stands or packed beside it (.xz, .gz, .zst).
std::string with_packing(const std::string& path);

/// The numbers below `count` in a random order.
std::vector<std::size_t> shuffled(std::size_t count, Random& random);

/// How many ways the papers cut a data set: three fifths to train, one to validate, one to test.
constexpr std::size_t kFifths = 5;

/// What is trained on, chosen by and tested on.
struct Split {
  fusion::TrainingSet train, validate, test;
};

/// The fifths of an order of anything, turned by `fold`: what trains, validates and tests, each ascending.
std::array<std::vector<std::size_t>, 3> turn_of_fifths(const std::vector<std::size_t>& order,
                                                       std::size_t fold);

/// LETOR files as one set, packed or not.
/// errors: those of the files
Result<fusion::TrainingSet> read_letor(const std::vector<std::string>& paths);

/// A fold, 0 to 4, of a LETOR folder's parts S1.txt to S5.txt, as LETOR cuts them.
Result<Split> read_letor_split(const std::string& folder, std::size_t fold);

/// The sample of MSLR-WEB10K below the data folder, 36 queries.
Result<fusion::TrainingSet> read_mslr_sample(const std::string& data);

/// Mean NDCG@1..10 on the test folds as LETOR 3.0 published it, one entry per method.
using PublishedNdcg = std::vector<std::pair<std::string, std::vector<double>>>;

/// Reads the sheets of one collection (a "# sheet,METHOD" line before each).
///
/// errors: no_input; bad_data with file and line when a mean is no number
Result<PublishedNdcg> read_published_ndcg(const std::string& path);

/// A line of MovieLens 100K's u.data; users and movies count from 1.
struct Rating {
  std::size_t user = 0;
  long time = 0;
  std::size_t movie = 0;
  double stars = 0.0;
};

/// errors: no_input; bad_data with file and line
Result<std::vector<Rating>> read_movielens(const std::string& path);

/// Stars by viewer and movie; 0 where a viewer has not rated a movie.
struct Ratings {
  std::size_t movie_count = 0;
  std::vector<std::vector<double>> stars;       ///< viewer x movie
  std::vector<std::vector<std::size_t>> rated;  ///< per viewer: the movies, ascending

  std::size_t viewer_count() const { return stars.size(); }
};

/// errors: as read_movielens; bad_data when there are far more viewers and movies than MovieLens 100K has
Result<Ratings> read_ratings(const std::string& path);

}  // namespace metafuse::experiments
