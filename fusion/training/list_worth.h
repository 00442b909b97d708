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

/// What one list contributes to a fusion.
struct ListWorth {
  std::string name;
  double alone = 0.0;             ///< the measure of the list alone
  std::size_t relevant = 0;       ///< relevant documents in the list, over all judged queries
  std::size_t only_here = 0;      ///< those of them that no other list holds
  double loss = 0.0;              ///< how much lower the measure is when only the other lists are fused
  evaluation::Interval interval;  ///< 95 % interval of the loss, over queries
};

/// One step of taking lists away: the fusion of the remaining lists.
struct ListsLeft {
  std::string without;  ///< the list taken away in this step
  double value = 0.0;
  double loss = 0.0;
  evaluation::Interval interval;
};

struct ListReport {
  std::string method;
  std::string measure;
  double value = 0.0;  ///< of the fusion of all lists
  std::size_t queries = 0;
  std::size_t relevant = 0;      ///< judged relevant documents, whether in a list or not
  std::size_t found = 0;         ///< those of them that are in some list
  std::vector<ListWorth> lists;  ///< the list with the largest loss first
  std::vector<ListsLeft> steps;  ///< lists taken away one after another, the smallest loss first
  std::size_t dispensable = 0;   ///< this many first steps together lose at most most_loss
  double most_loss = 0.0;
};

struct ListWorthOptions {
  MethodComparisonOptions comparison;  ///< one method or one learner, the measure first in `set`
  double most_loss = 0.005;            ///< what lists may cost together and still count as dispensable
};

/// Measures lists by what their absence costs, first one list at a time, then more and more lists, beginning
/// with the one that costs least. A learner is trained anew each time, by query-level cross-validation;
/// if no crucial pair is left to learn from, the lists are fused by RRF instead. The measure counts documents
/// that only a removed list holds as not found.
///
/// errors: usage: fewer than two lists, or a measure of several columns; those of compare_methods; also when
///         the method or learner fails
/// cost:   two comparisons per list
Result<ListReport> worth_of_lists(const std::vector<evaluation::Run>& runs,
                                  const evaluation::Judgments& judgments, const ListWorthOptions& options);

std::string to_table(const ListReport& report);
Json to_json(const ListReport& report);

}  // namespace metafuse::fusion
