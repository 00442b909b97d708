#pragma once

#include "core/random.h"
#include "fusion/data/training_set.h"

namespace metafuse::test {

struct RandomSetOptions {
  std::size_t most_queries = 4;
  std::size_t most_documents = 8;
  std::size_t most_features = 4;
  std::size_t fewest_documents = 1;
  std::uint64_t most_values = 6;   ///< how many different values a feature may have
  bool may_leave_unranked = true;  ///< some cells may be unranked
  bool may_have_pairs = false;
  bool is_coded = true;  ///< use the compact form of the matrix, as readers do
};

/// A small training set with all the awkward cases: ties, unranked cells, queries with one document or one
/// grade, several relevant documents, rank and value features, features that are unranked everywhere.
fusion::TrainingSet random_training_set(Random& random, const RandomSetOptions& options = {});

}  // namespace metafuse::test
