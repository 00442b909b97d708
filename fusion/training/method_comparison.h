#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/progress.h"
#include "core/result.h"
#include "evaluation/reports/comparison.h"
#include "evaluation/runs/run_file.h"
#include "fusion/data/training_set.h"
#include "fusion/unsupervised/fusion_method.h"

namespace metafuse::fusion {

struct MethodComparisonOptions {
  evaluation::MeasureSet set;
  evaluation::EvaluationOptions evaluation;            ///< its depth cuts what is judged of every fused list
  std::vector<std::string> methods;                    ///< names; empty for all of the table
  std::vector<std::string> learners;                   ///< names of learners that are trained too
  std::map<std::string, std::string> learner_options;  ///< given to the learners that know them
  std::string derive;  ///< derived features of the learners, as TrainingInput has them
  FeedbackOptions feedback;
  std::size_t folds = 5;
  std::size_t depth = 0;  ///< of the lists, 0 for all
  std::string baseline = "best_run";
  std::string test = "randomisation";
  std::uint64_t seed = 1;
  ProgressReport progress;
};

/// A comparison, and what could not be compared.
struct MethodComparison {
  evaluation::Report report;
  std::vector<std::string>
      notes;  ///< a sentence for each method or learner that failed, and the best run's name
};

/// Every fusion method side by side on the judged queries: unsupervised methods on all of them, supervised
/// ones and learners by query-level cross-validation (what is learned on the other folds fuses the held-out
/// one). The row "best_run" is the single run with the best first measure over all queries.
///
/// errors: bad_data when runs and judgments share no query; usage for unknown names and too many folds
/// cost:   methods x queries, plus folds x training
Result<MethodComparison> compare_methods(const std::vector<evaluation::Run>& runs,
                                         const evaluation::Judgments& judgments,
                                         const MethodComparisonOptions& options);

}  // namespace metafuse::fusion
