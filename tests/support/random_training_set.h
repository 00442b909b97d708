#pragma once

#include "core/random.h"
#include "fusion/data/training_set.h"

namespace metafuse::test {

struct RandomSetOptions {
  std::size_t most_queries = 4;
  std::size_t most_documents = 8;
  std::size_t most_features = 4;
  std::size_t fewest_documents = 1;
  std::uint64_t most_values = 6;   ///< different values of a feature
  bool may_leave_unranked = true;  ///< cells
  bool may_have_pairs = false;
  bool is_coded = true;  ///< the lean form of the matrix, as readers make it
};

/// A small training set with everything that is awkward: ties, unranked cells, queries of one document or one
/// grade, several relevant documents, rank and value features, features unranked everywhere.
fusion::TrainingSet random_training_set(Random& random, const RandomSetOptions& options = {});

}  // namespace metafuse::test
