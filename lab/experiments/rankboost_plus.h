#pragma once

#include <string>
#include <vector>

#include "lab/experiments/data_sets.h"
#include "lab/experiments/experiment.h"

namespace metafuse::lab::experiments::rankboost_plus {

/// One ranking task of Connamacher et al. 2020, with its folds.
struct Task {
  std::string name;
  std::vector<Split> folds;
};

struct Tasks {
  std::vector<Task> tasks;
  std::size_t left_out = 0;  ///< tasks without features, or without feedback in some part
};

/// One task per MovieLens user with at least 100 ratings. Its features are the other users, except those who
/// rated less than half of this user's movies.
Result<Tasks> movie_tasks(const std::string& data, std::size_t most, Random random);

/// One task per query of the MSLR-WEB10K sample with fewer than 50,000 crucial pairs.
Result<Tasks> web_tasks(const std::string& data, std::size_t most, Random random);

/// The five official folds of MQ2008, as five tasks of one fold each.
Result<Tasks> letor_tasks(const std::string& data, std::size_t most);

/// Splits the documents of a one-query set five times: three fifths to train, one to validate, one to test.
/// Empty if some part of a split has only one grade.
std::vector<Split> split_documents(const fusion::TrainingSet& set, Random random);

}  // namespace metafuse::lab::experiments::rankboost_plus
