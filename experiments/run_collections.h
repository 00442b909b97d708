#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/result.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/runs/run_file.h"

namespace metafuse::experiments {

/// Runs of many systems on one set of judged queries, and how the table about them is made.
struct RunCollection {
  std::string name;
  std::vector<evaluation::Run> runs;
  evaluation::Judgments judgments;
  std::string measures;
  std::size_t folds = 5;
  std::size_t limit = 100;  ///< how many documents of a fused list count in the measures; 0: all
};

/// TREC-3: 40 ad hoc systems, 50 queries, lists cut off after 100 documents.
/// errors: those of the files below data + "/trec-runs-top100"
Result<RunCollection> read_trec3(const std::string& data);

/// TREC-COVID round 1: 143 systems, 30 queries, lists cut off after 100 documents.
Result<RunCollection> read_covid_round1(const std::string& data);

/// FedWeb 2013: the lists of 157 web search engines, 50 queries. A document's id names engine, query
/// and position.
/// errors: those of the files below data + "/fedweb2013-qrels"
Result<RunCollection> read_fedweb(const std::string& data);

}  // namespace metafuse::experiments
