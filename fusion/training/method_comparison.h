#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/progress.h"
#include "core/result.h"
#include "evaluation/reports/report.h"
#include "evaluation/runs/run_file.h"
#include "fusion/data/training_set.h"
#include "fusion/training/registry.h"
#include "fusion/unsupervised/fusion_method.h"

namespace metafuse::fusion {

struct MethodComparisonOptions {
  evaluation::MeasureSet set;
  evaluation::EvaluationOptions evaluation;  ///< its depth cuts each fused list before evaluation
  std::vector<std::string> methods;          ///< names; empty: all fusion methods
  Learners table = product_learners();
  std::vector<std::string> learners;  ///< names in `table`, of learners to train as well
  /// Each is passed to the learners that have it; one of them must.
  std::map<std::string, std::string> learner_options;
  std::string derive;        ///< derived features for the learners, as in TrainingInput
  FeedbackOptions feedback;  ///< for the learners; its relevance level is that of the evaluation
  std::size_t folds = 5;
  std::size_t depth = 0;  ///< how many ranks of each list count, 0 for all
  /// How the rows are compared; no baseline: not at all. Its seed also cuts the folds and trains.
  evaluation::ComparisonOptions significance{"best_run", "randomisation", 1};
  ProgressReport progress;
};

/// A comparison, and what could not be compared.
struct MethodComparison {
  evaluation::Report report;
  /// One sentence per method or learner that failed, and the name of the best run.
  std::vector<std::string> notes;
  std::map<std::string, Error> left_out;  ///< why methods and learners failed, by name
};

/// Compares fusion methods on the judged queries. Unsupervised methods fuse all of them. Supervised methods
/// and learners are cross-validated by query: what is learned on the other folds fuses the held-out fold. The
/// row "best_run" is the single run with the best first measure over all queries.
///
/// in:     options.evaluation.rules - its highest grade is that of the judgments
/// errors: bad_data when runs and judgments have no query in common; usage for unknown names, an option that
///         none of the learners has, or too many folds
/// cost:   methods x queries, plus folds x training
Result<MethodComparison> compare_methods(const std::vector<evaluation::Run>& runs,
                                         const evaluation::Judgments& judgments,
                                         const MethodComparisonOptions& options);

}  // namespace metafuse::fusion
