#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/result.h"

namespace metafuse::experiments::movies {

/// Stars by viewer and movie; 0 where a viewer has not rated a movie.
struct Ratings {
  std::size_t movie_count = 0;
  std::vector<std::vector<double>> stars;       ///< viewer x movie
  std::vector<std::vector<std::size_t>> rated;  ///< of each viewer: the movies, ascending

  std::size_t viewer_count() const { return stars.size(); }
};

/// Reads MovieLens 100K's u.data: user, item, rating and timestamp a line.
///
/// errors: no_input; bad_data with file and line
Result<Ratings> read_ratings(const std::string& path);

}  // namespace metafuse::experiments::movies
