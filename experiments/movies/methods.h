#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "experiments/movies/measures.h"
#include "experiments/movies/task.h"

namespace metafuse::experiments::movies {

enum class Method {
  rankboost,  ///< WeakLearn.3.cum, q_default learned, 40 + N/10 rounds
  vector_similarity,
  nearest_neighbour,
  regression,
  random_guessing,
  normalised_regression,  ///< sec. 6.2.6
  ten_neighbours,         ///< sec. 6.2.6
  rankboost_with_vsim,    ///< sec. 6.2.6: VSIM's prediction as one more ranking feature
  rankboost_bipartite,    ///< sec. 7: only good movies against the rest
  adaboost,               ///< sec. 7
};

std::string method_name(Method method);

/// The measures of each method on the task's test half.
///
/// errors: those of the learners, for a task without feedback
Result<std::vector<Values>> run_methods(const Ratings& ratings, const Task& task,
                                        const std::vector<Method>& methods);

}  // namespace metafuse::experiments::movies
