#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "evaluation/runs/run_file.h"
#include "evaluation/significance/significance.h"
#include "fusion/training/method_comparison.h"

namespace metafuse::fusion {

/// What one list adds to a fusion.
struct ListWorth {
  std::string name;
  double alone = 0.0;             ///< the measure of the list as it is
  std::size_t relevant = 0;       ///< relevant documents that it holds, over all judged queries
  std::size_t only_here = 0;      ///< of them, those that no other list holds
  double loss = 0.0;              ///< what the fusion of the others is behind the fusion of all
  evaluation::Interval interval;  ///< of the loss, 95 %, over queries
};

/// The fusion after one more list is taken away.
struct ListsLeft {
  std::string without;  ///< the list that went in this step
  double value = 0.0;
  double loss = 0.0;
  evaluation::Interval interval;
};

struct ListReport {
  std::string method;
  std::string measure;
  double value = 0.0;  ///< of the fusion of all lists
  std::size_t queries = 0;
  std::size_t relevant = 0;      ///< judged relevant documents, in a list or not
  std::size_t found = 0;         ///< of them, those in some list
  std::vector<ListWorth> lists;  ///< what costs most when it is missing first
  std::vector<ListsLeft> steps;  ///< lists taken away one after the other, what costs least first
  std::size_t dispensable = 0;   ///< so many first steps together lose no more than asked for
  double most_loss = 0.0;
};

struct ListWorthOptions {
  MethodComparisonOptions comparison;  ///< one method or one learner, the measure first in `set`
  double most_loss = 0.005;            ///< that lists which could go may cost together
};

/// Leave-one-out: every list is taken away alone, then one after the other in the order of what their absence
/// costs. A learner is trained anew each time, by query-level cross-validation; where no crucial pair is left
/// to learn from, lists are fused by RRF. Documents that only the
/// missing list holds are lost, and the measure counts them as not found.
///
/// errors: usage: fewer than two lists, a measure of several columns; those of compare_methods, also when the
///         method or learner fails
/// cost:   two comparisons per list
Result<ListReport> worth_of_lists(const std::vector<evaluation::Run>& runs,
                                  const evaluation::Judgments& judgments, const ListWorthOptions& options);

std::string to_table(const ListReport& report);
Json to_json(const ListReport& report);

}  // namespace metafuse::fusion
