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

// Data sets as judged queries with their lists, in five parts: what learners are compared on.

namespace metafuse::experiments {

struct JudgedQueries {
  std::string name;
  fusion::TrainingSet set;
  std::vector<std::vector<evaluation::GradeCount>> judged;  ///< per query: relevant documents, listed or not
  std::vector<std::size_t> part_of;                         ///< per query: the fifth that it is in
  bool is_part_fixed = false;  ///< the parts are the set's own; else they are drawn at random
  std::size_t limit = 0;       ///< how far down rankings are judged; 0: all of them
};

/// One of LETOR's aggregation sets, in its own parts.
/// errors: those of the files below data + "/letor4-agg"
Result<JudgedQueries> read_aggregation(const std::string& data, const std::string& name);

/// errors: that of `read`; bad_data when runs and judgments share no query
Result<JudgedQueries> judged_runs(Result<RunCollection> read, std::uint64_t seed);

/// The demonstration's lists.
/// in:     seed - of the sample of base queries
Result<JudgedQueries> record_demonstration(const ExperimentOptions& options, std::uint64_t seed);

/// The first measure of every test query; one without a relevant document counts 0.
///
/// in:     test - places in `queries` of what `set` holds, which has a score per document
std::vector<double> values_of(const JudgedQueries& queries, const std::vector<std::size_t>& test,
                              const fusion::TrainingSet& set, const std::vector<double>& scores,
                              const evaluation::MeasureSet& measures);

}  // namespace metafuse::experiments
