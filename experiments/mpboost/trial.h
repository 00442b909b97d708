#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/result.h"
#include "experiments/experiment.h"
#include "experiments/split.h"

namespace metafuse::experiments::mpboost {

constexpr std::size_t kDepth = 10;
constexpr std::size_t kChosenBy = 5;  ///< NDCG@5 on validation chooses parameter and rounds
constexpr std::size_t kStep = 10;     ///< the overfitting curve has a point every so many rounds

/// The contestants: RankBoost, then the four distances.
constexpr std::size_t kForms = 5;
std::string form_name(std::size_t form);

/// One training: what validation chose, and the test set's curve.
struct Trial {
  double validation = -1.0;
  double parameter = 1.0;
  double mean_distance = 1.0;
  std::size_t rounds = 0;
  std::vector<double> ndcg;   ///< NDCG@1..10 of the test set after the chosen rounds
  std::vector<double> curve;  ///< NDCG@5 of the test set every kStep rounds
};

/// The best parameter of each form in each fold.
struct Outcome {
  std::string name;
  std::vector<std::vector<Trial>> trials;  ///< form, fold

  std::vector<double> mean_ndcg(std::size_t form) const;
  std::vector<double> mean_curve(std::size_t form) const;
};

struct Plan {
  std::size_t rounds = 300;
  std::size_t folds = 5;
  bool is_quick = false;
};

/// Trains every form with every parameter of its grid in every fold, and keeps what validation prefers.
///
/// errors: those of training; bad_data: a fold in which a form trained nothing
Result<Outcome> compare(std::string name, const std::vector<Split>& folds, const Plan& plan,
                        const ExperimentOptions& options);

}  // namespace metafuse::experiments::mpboost
