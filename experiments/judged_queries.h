#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "evaluation/measures/measure.h"
#include "experiments/experiment.h"
#include "experiments/run_collections.h"
#include "fusion/data/training_set.h"

// Data sets on which learners are compared: judged queries with their lists, divided into five parts.

namespace metafuse::experiments {

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

/// The values of the first measure for every test query; a query without a relevant document counts as 0.
///
/// in:     test - for each query of `set`, its number in `queries`; scores - one per document of `set`
std::vector<double> values_of(const JudgedQueries& queries, const std::vector<std::size_t>& test,
                              const fusion::TrainingSet& set, const std::vector<double>& scores,
                              const evaluation::MeasureSet& measures);

}  // namespace metafuse::experiments
