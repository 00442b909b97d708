#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/result.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/runs/run_file.h"

namespace metafuse::experiments {

/// Runs of many systems on one set of judged queries, and how a table of them is made.
struct RunCollection {
  std::string name;
  std::vector<evaluation::Run> runs;
  evaluation::Judgments judgments;
  std::string measures;
  std::size_t folds = 5;
  std::size_t limit = 100;  ///< how far down fused lists are judged; 0: all of them
};

/// TREC-3's 40 ad hoc systems on 50 queries, cut after 100 documents.
/// errors: those of the files below data + "/trec-runs-top100"
Result<RunCollection> read_trec3(const std::string& data);

/// TREC-COVID round 1: 143 systems on 30 queries, cut after 100 documents.
Result<RunCollection> read_covid_round1(const std::string& data);

/// FedWeb 2013: the lists of 157 web search engines on 50 queries. A document id says engine, query, place.
/// errors: those of the files below data + "/fedweb2013-qrels"
Result<RunCollection> read_fedweb(const std::string& data);

}  // namespace metafuse::experiments
