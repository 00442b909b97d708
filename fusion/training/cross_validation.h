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
#include "fusion/data/training_set.h"
#include "fusion/training/registry.h"
#include "fusion/unsupervised/query_lists.h"

namespace metafuse::fusion {

/// A way to order documents that needs no training: one score per row of [begin, end), higher is better.
struct Baseline {
  std::string name;
  std::function<std::vector<double>(const FeatureMatrix& matrix, std::size_t begin, std::size_t end)> score;
};

/// The rank features of some rows as the lists that they came from; document numbers count from `begin`, and
/// an entry's score is minus its rank.
QueryLists lists_of(const FeatureMatrix& matrix, std::size_t begin, std::size_t end);

/// RRF, CombMNZ, Borda and SearXNG's formula over the rank features: what every table compares a
/// learner with.
std::vector<Baseline> rank_baselines();

struct CrossValidationOptions {
  const Learner* learner = nullptr;
  std::map<std::string, std::string> learner_options;
  std::vector<Baseline> baselines;
  int depth = 30;            ///< the rank of an answer that is missing or deeper is depth + 1
  std::string measure_name;  ///< of TrainingRequest
  std::uint64_t seed = 1;
  unsigned threads = 1;
  ProgressReport progress;
};

/// How one method ordered the held-out queries.
struct MethodRanks {
  std::string name;
  std::vector<int> best_rank;  ///< of the best relevant document, a query each, capped at depth + 1

  std::size_t top(int k) const;
  double average_rank() const;
};

struct CrossValidation {
  int depth = 30;
  std::size_t unanswerable = 0;      ///< queries without a relevant document in any list, left out
  std::vector<std::string> queries;  ///< the others
  std::vector<std::size_t> fold_of;  ///< the fold in which each was held out
  MethodRanks learner;               ///< the combined ranking
  std::vector<MethodRanks> baselines;
  std::vector<MethodRanks> features;         ///< each ranking feature alone
  std::vector<std::string> model_summaries;  ///< a fold each
  std::vector<Json> choices;  ///< a fold each: what `auto` chose among what; empty for other learners
};

/// Query-level cross-validation: for each fold a model is trained on the other folds' queries and orders
/// the fold's (Freund et al. 2003, sec. 6.1). Baselines and single features need no training and order the
/// same queries.
///
/// in:     folds - one per query of the set
/// errors: those of the learner, with the fold; bad_data when no query is answerable
/// cost:   folds x training
Result<CrossValidation> cross_validate(const TrainingSet& set, const evaluation::Folds& folds,
                                       const CrossValidationOptions& options);

/// The table of sec. 6.1: top 1, 2, 5, 10, 20, 30 and the average rank; the last row is, column by column,
/// the best single feature on the held-out queries.
std::string to_table(const CrossValidation& result);
Json to_json(const CrossValidation& result);

}  // namespace metafuse::fusion
