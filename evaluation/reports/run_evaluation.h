#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "evaluation/measures/measure.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/runs/run_file.h"
#include "evaluation/runs/topic_index.h"

namespace metafuse::evaluation {

struct EvaluationOptions {
  Rules rules;
  bool is_complete = false;  ///< means are over all judged queries (trec_eval -c)
  bool judged_only = false;  ///< documents without a grade are taken out of the lists (trec_eval -J)
  std::size_t depth = 0;     ///< only so many documents of a list count (trec_eval -M), 0 for all
  unsigned threads = 1;
  RunFileOptions file;
};

/// A table of queries x measures for one run.
struct RunEvaluation {
  std::string run;
  std::vector<std::string> queries;     ///< evaluated ones, ascending bytewise
  std::vector<double> values;           ///< row-major, one row per query
  std::vector<double> documents;        ///< how long each query's list is
  std::vector<std::string> relstrings;  ///< one per query when the set asks for relstring, else empty
  std::size_t missing = 0;              ///< judged queries that the run has no list for
  std::vector<double> summary;          ///< one per column

  std::size_t columns() const { return summary.size(); }
  double value(std::size_t query, std::size_t column) const { return values[query * columns() + column]; }
  std::vector<double> column(std::size_t column) const;  ///< by query
};

/// Evaluates a run file topic by topic.
///
/// out:    queries that stand in the run and in the judgments (and, under gdeval, have a relevant document)
/// errors: bad_data as read_run; and when run and judgments share no query
/// cost:   O(lines log lines of a topic); private memory for a few topics at a time
Result<RunEvaluation> evaluate_run(const RunIndex& run, const Judgments& judgments, const MeasureSet& set,
                                   const EvaluationOptions& options);

/// The same for a run in memory: equal scores are ordered as in a file.
Result<RunEvaluation> evaluate_run(const Run& run, const Judgments& judgments, const MeasureSet& set,
                                   const EvaluationOptions& options);

/// The same over judgment groups: qrels whose second column names a judge. Every value is the mean over the
/// groups that judged the query (trec_eval -R qrels_jg); measures are named NAME_avgjg.
Result<RunEvaluation> evaluate_run_by_groups(const RunIndex& run, std::span<const Judgments> groups,
                                             const MeasureSet& set, const EvaluationOptions& options);

/// Fills `summary` from `values` by each measure's average.
void summarise(RunEvaluation& evaluation, const MeasureSet& set, const EvaluationOptions& options);

/// Turns one topic's list into a JudgedRanking; keeps its tables from topic to topic.
class TopicJudge {
 public:
  explicit TopicJudge(const EvaluationOptions& options) : options_(options) {}

  /// Orders the lines by the mode's rule and looks up their grades.
  ///
  /// out:    valid until the next call; nullptr, with `twice` set, when a document stands twice
  const JudgedRanking* judge(std::vector<RunLine>& lines, const QueryJudgments& judgments);

  const RunLine* twice() const { return twice_; }

 private:
  const EvaluationOptions& options_;
  IdTable table_;
  std::vector<char> is_seen_;
  JudgedRanking ranking_;
  const RunLine* twice_ = nullptr;
};

/// trec_eval's order: score descending (in single precision under trec9), document id descending bytewise;
/// LETOR's: score descending, file order.
void sort_by_rule(std::vector<RunLine>& lines, Mode mode);

/// A LETOR file and a file of scores, one line per row.
///
/// errors: those of the readers; bad_data when the numbers of lines differ or a score is not finite
Result<RunEvaluation> evaluate_letor(const std::string& letor_path, bool values_are_ranks,
                                     const std::string& scores_path, const MeasureSet& set,
                                     const EvaluationOptions& options);

}  // namespace metafuse::evaluation
