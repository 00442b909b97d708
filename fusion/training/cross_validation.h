#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/progress.h"
#include "core/result.h"
#include "evaluation/significance/significance.h"
#include "fusion/data/feature_matrix.h"
#include "fusion/data/features.h"
#include "fusion/data/training_set.h"
#include "fusion/training/registry.h"

namespace metafuse::fusion {

/// A method that orders documents without training: one score per row of [begin, end), higher is better.
struct Baseline {
  std::string name;
  std::function<std::vector<double>(const FeatureMatrix& matrix, std::size_t begin, std::size_t end)> score;
};

/// RRF, CombMNZ, Borda and SearXNG's formula over the rank features: the baselines that every table shows
/// beside a learner.
///
/// in: rrf_k - the k of RRF
std::vector<Baseline> rank_baselines(double rrf_k = kRrfConstant);

struct CrossValidationOptions {
  const Learner* learner = nullptr;
  std::map<std::string, std::string> learner_options;
  std::vector<Baseline> baselines;
  int depth = 30;            ///< a missing or deeper answer gets the rank depth + 1
  std::string measure_name;  ///< as in TrainingRequest
  std::uint64_t seed = 1;
  unsigned threads = 1;
  ProgressReport progress;
};

/// How well one method ordered the held-out queries.
struct MethodRanks {
  std::string name;
  /// For each query, the rank of the best relevant document, capped at depth + 1.
  std::vector<int> best_rank;

  std::size_t top(int k) const;
  double average_rank() const;
};

struct CrossValidation {
  int depth = 30;
  std::size_t unanswerable = 0;      ///< queries without a relevant document in any list; left out
  std::vector<std::string> queries;  ///< the ids of all other queries
  std::vector<std::size_t> fold_of;  ///< for each of these, the fold in which it was held out
  MethodRanks learner;               ///< the combined ranking
  std::vector<MethodRanks> baselines;
  std::vector<MethodRanks> features;  ///< each ranking feature alone
  std::size_t folds = 0;
  /// One per fold: what `auto` chose and from what; empty for other learners.
  std::vector<Json> choices;
};

/// Query-level cross-validation: for each fold, a model is trained on the queries of the other folds and
/// orders those of the fold (Freund et al. 2003, sec. 6.1). Baselines and single features, which need no
/// training, order the same queries.
///
/// in:     folds - one per query of the set
/// errors: those of the learner, with the fold; bad_data when no query is answerable
/// cost:   folds x training
Result<CrossValidation> cross_validate(const TrainingSet& set, const evaluation::Folds& folds,
                                       const CrossValidationOptions& options);

/// The table of sec. 6.1: top 1, 2, 5, 10, 20, 30 and the average rank. The last row shows in each column the
/// best single feature on the held-out queries.
std::string to_table(const CrossValidation& result);
Json to_json(const CrossValidation& result);

}  // namespace metafuse::fusion
