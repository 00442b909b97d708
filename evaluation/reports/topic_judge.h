#pragma once

#include <vector>

#include "evaluation/reports/run_evaluation.h"
#include "evaluation/runs/id_table.h"

namespace metafuse::evaluation {

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

}  // namespace metafuse::evaluation
