#pragma once

#include <string>

#include "core/result.h"
#include "experiments/experiment.h"

namespace metafuse::experiments::movies {

/// The movie experiment of Freund et al. 2003, sec. 6.2, on MovieLens 100K in EachMovie's place: figures 5 to
/// 8, and the comparisons that sec. 6.2.6 and 7 propose.
///
/// in: options.data - holds movielens-100k/u.data; quick: one split with 24 targets; full: every target
Result<std::string> run_movies(const ExperimentOptions& options);

}  // namespace metafuse::experiments::movies
