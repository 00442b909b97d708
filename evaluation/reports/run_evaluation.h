#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "evaluation/measures/measure.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/runs/run_file.h"

namespace metafuse::evaluation {

struct EvaluationOptions {
  Rules rules;
  bool is_complete = false;  ///< means are over all judged queries, also those without a list (trec_eval -c)
  bool judged_only = false;  ///< documents without a grade are removed from the lists (trec_eval -J)
  std::size_t depth = 0;     ///< how many documents of a list count (trec_eval -M); 0: all
  unsigned threads = 1;
  RunFileOptions file;
};

/// The highest grade in the judgments, at least 1: what Rules::top_grade is where these judgments count.
int highest_grade(const Judgments& judgments);

/// Whether a query counts under the rules: gdeval leaves out those without a relevant document.
bool is_evaluated(const QueryJudgments& query, const Rules& rules);

/// The values of one run: a table of queries x measures.
struct RunEvaluation {
  std::string run;
  std::vector<std::string> queries;     ///< those evaluated, in ascending byte order
  std::vector<double> values;           ///< row-major, one row per query
  std::vector<double> documents;        ///< the length of each query's list
  std::vector<std::string> relstrings;  ///< one per query when the set asks for relstring, else empty
  std::size_t missing = 0;              ///< judged queries for which the run has no list
  std::vector<double> summary;          ///< one per column

  std::size_t columns() const { return summary.size(); }
  double value(std::size_t query, std::size_t column) const { return values[query * columns() + column]; }
  std::vector<double> column(std::size_t column) const;  ///< one value per query
};

/// Evaluates a run file topic by topic.
///
/// out:    the queries that occur in both run and judgments (under gdeval, only those with a
///         relevant document)
/// errors: bad_data as in read_run, and when run and judgments share no query
/// cost:   O(lines * log(lines per topic)); private memory for only a few topics at a time
Result<RunEvaluation> evaluate_run(const RunIndex& run, const Judgments& judgments, const MeasureSet& set,
                                   const EvaluationOptions& options);

/// The same for a run in memory; equal scores are ordered as they are for a file.
Result<RunEvaluation> evaluate_run(const Run& run, const Judgments& judgments, const MeasureSet& set,
                                   const EvaluationOptions& options);

/// The same with judgment groups: qrels whose second column names a judge. Every value is the mean over the
/// groups that judged the query (trec_eval -R qrels_jg); measures are named NAME_avgjg, and there
/// are no relstrings.
///
/// errors: those of evaluate_run; that they share no query only if this is so of all groups
Result<RunEvaluation> evaluate_run_by_groups(const RunIndex& run, std::span<const Judgments> groups,
                                             const MeasureSet& set, const EvaluationOptions& options);

/// Computes `summary` from `values`, with each measure's kind of average.
void summarise(RunEvaluation& evaluation, const MeasureSet& set, const EvaluationOptions& options);

/// Evaluates a LETOR file with a file of scores, one score line per row. ERR's top grade is the file's.
///
/// errors: those of the readers; bad_data when the numbers of lines differ or a score is not finite
Result<RunEvaluation> evaluate_letor(const std::string& letor_path, bool values_are_ranks,
                                     const std::string& scores_path, const MeasureSet& set,
                                     const EvaluationOptions& options);

}  // namespace metafuse::evaluation
