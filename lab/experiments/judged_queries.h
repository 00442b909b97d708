#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "evaluation/measures/measure.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/runs/run_file.h"
#include "fusion/data/training_set.h"
#include "lab/experiments/experiment.h"
#include "lab/experiments/report.h"

// Data sets on which methods and learners are compared: runs of many systems on one set of queries, and
// judged queries with their lists, divided into five parts.

namespace metafuse::lab::experiments {

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

struct JudgedQueries {
  std::string name;
  fusion::TrainingSet set;
  std::vector<std::vector<evaluation::GradeCount>> judged;  ///< per query: relevant documents, listed or not
  std::vector<std::size_t> part_of;                         ///< per query: the number of its part
  bool is_part_fixed = false;  ///< true: the data set defines the parts; false: they are drawn at random
  std::size_t limit = 0;       ///< how many documents of a ranking count in the measures; 0: all
};

/// Reads one of LETOR's aggregation sets, with its own parts.
/// errors: those of the files below data + "/letor4-agg"
Result<JudgedQueries> read_aggregation(const std::string& data, const std::string& name);

/// errors: those of `read`; bad_data if runs and judgments share no query
Result<JudgedQueries> judged_runs(Result<RunCollection> read, std::uint64_t seed);

/// Records the demonstration's lists.
/// in:     seed - for the sample of base queries
Result<JudgedQueries> record_demonstration(const ExperimentOptions& options, std::uint64_t seed);

/// Whether options.data contains the demonstration's package index; if not, the report says what is missing.
bool has_demonstration(const ExperimentOptions& options, PaperReport& report);

/// The numbers of the queries to learn from and of those to test on.
struct Division {
  std::vector<std::size_t> train, test;
};

/// One part is for the test.
/// in:     part_of - per query: the number of its part
Division divided(const std::vector<std::size_t>& part_of, std::size_t part);

/// Divides the queries of a set at random into parts of equal size.
/// out:    per query: the number of its part
/// errors: as evaluation::random_folds
Result<std::vector<std::size_t>> random_parts(const fusion::TrainingSet& set, std::size_t count,
                                              std::uint64_t seed);

/// The values of the first measure for every test query; a query without a relevant document counts as 0.
///
/// in:     test - for each query of `set`, its number in `queries`; scores - one per document of `set`
std::vector<double> values_of(const JudgedQueries& queries, const std::vector<std::size_t>& test,
                              const fusion::TrainingSet& set, const std::vector<double>& scores,
                              const evaluation::MeasureSet& measures);

}  // namespace metafuse::lab::experiments
