#include "experiments/movies/ratings.h"

#include <algorithm>
#include <sstream>

#include "core/text_file.h"

namespace metafuse::experiments::movies {

Result<Ratings> read_ratings(const std::string& path) {
  Ratings ratings;
  struct Line {
    std::size_t viewer, movie;
    double stars;
  };
  std::vector<Line> lines;
  std::size_t viewers = 0;
  constexpr std::size_t kMost = 1000000;
  auto done = for_each_line(path, [&](std::string_view text, std::size_t number) -> Result<void> {
    std::istringstream words{std::string(text)};
    Line line{};
    if (!(words >> line.viewer >> line.movie >> line.stars) || line.viewer == 0 || line.movie == 0 ||
        line.viewer > kMost || line.movie > kMost || !(line.stars >= 1.0 && line.stars <= 5.0))
      return fail(Code::bad_data, path + ":" + std::to_string(number) +
                                      ":1: not \"user item rating timestamp\"; take the file as distributed");
    viewers = std::max(viewers, line.viewer);
    ratings.movie_count = std::max(ratings.movie_count, line.movie);
    lines.push_back(line);
    return {};
  });
  if (!done) return done.error();
  if (viewers * ratings.movie_count > 50 * kMost)
    return fail(Code::bad_data, path + ": more viewers and movies than MovieLens 100K has; take that file");
  ratings.stars.assign(viewers, std::vector<double>(ratings.movie_count, 0.0));
  ratings.rated.resize(viewers);
  for (const Line& line : lines) ratings.stars[line.viewer - 1][line.movie - 1] = line.stars;
  for (std::size_t v = 0; v < viewers; ++v)
    for (std::size_t m = 0; m < ratings.movie_count; ++m)
      if (ratings.stars[v][m] > 0.0) ratings.rated[v].push_back(m);
  return ratings;
}

}  // namespace metafuse::experiments::movies
