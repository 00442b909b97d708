#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "evaluation/measures/measure.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/runs/run_file.h"
#include "fusion/data/training_set.h"
#include "lab/experiments/data_sets.h"
#include "lab/experiments/experiment.h"
#include "lab/experiments/report.h"
#include "lab/experiments/trials.h"

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
  std::vector<std::size_t> part_of;  ///< per query: the number of its part
  bool is_part_fixed = false;  ///< true: the data set defines the parts; false: they are drawn at random
  std::size_t limit = 0;       ///< how many documents of a ranking count in the measures; 0: all
};

/// errors: those of `read`; bad_data if runs and judgments share no query
Result<JudgedQueries> judged_runs(Result<RunCollection> read, std::uint64_t seed);

/// The set of the demonstration, whose lists are recorded when it is read.
inline constexpr const char* kHomePages = "home pages";

/// Whether options.data has the set: it may lack only the demonstration's. If so, the report says it.
bool has_set(std::string_view name, const ExperimentOptions& options, Report& report);

/// Reads a set by its name: MQ2007-agg and MQ2008-agg with their own parts; TREC-3, TREC-COVID, FedWeb and
/// kHomePages with random ones.
///
/// in:     sample - which sample of the demonstration's base queries
/// errors: those of its files
Result<JudgedQueries> read_judged_queries(std::string_view name, const ExperimentOptions& options,
                                          std::uint64_t sample = 1);

/// Reads one set after the other and passes it on, without those that has_set() misses.
Result<void> for_each_set(std::initializer_list<std::string_view> names, const ExperimentOptions& options,
                          Report& report, const std::function<Result<void>(const JudgedQueries&)>& work);

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

/// The values of a measure for the queries of a set.
/// in: queries - that the set was taken from; scores - one per document of `set`
std::vector<double> values_of(const JudgedQueries& queries, const fusion::TrainingSet& set,
                              const std::vector<double>& scores, const std::string& measure);

/// Judged queries to learn from and others to test on.
struct Trial {
  /// in: from - must outlive this object; tested_by - the measure of the test queries
  Trial(const JudgedQueries& from, Division division, std::string tested_by, std::uint64_t seed);

  Result<fusion::Model> learn(const Method& method, const fusion::TrainingSet& set) const {
    return train(method, set, request);
  }
  Result<fusion::Model> learn(const Method& method) const { return learn(method, train_set); }
  /// Nothing if the learner refuses the set: bad_data, or usage for weights that it has no use for.
  /// errors: all others of the learner
  Result<std::optional<fusion::Model>> learn_if_accepted(const Method& method,
                                                         const fusion::TrainingSet& set) const {
    auto model = learn(method, set);
    if (model) return std::optional(std::move(*model));
    if (model.error().code != Code::bad_data && model.error().code != Code::usage) return model.error();
    return std::optional<fusion::Model>();
  }
  /// The measure of each test query.
  std::vector<double> values(const fusion::Model& model) const {
    return values_of(queries, test_set, model.ranker->score(test_set.matrix), measure);
  }
  double value(const fusion::Model& model) const { return mean_of(values(model)); }

  const JudgedQueries& queries;
  const std::vector<std::size_t> test;
  const fusion::TrainingSet train_set, test_set;
  const std::string measure;
  fusion::TrainingRequest request;  ///< for learn(); has the seed
};

/// The values of a part's test queries, one list per method.
using PartValues = std::vector<std::vector<double>>;

/// The mean of each method over the queries of all parts.
std::vector<double> means_over_queries(const std::vector<PartValues>& parts);

/// Runs work(part, seed) on every part, in a full run with five seeds; quick: on the first part.
template <class Work>
auto run_parts(const ExperimentOptions& options, const Work& work) {
  const std::size_t parts = options.is_quick() ? 1 : kFifths;
  return run_all(parts * (options.is_full() ? 5 : 1), options,
                 [&](std::size_t i) { return work(i % parts, options.seed + i / parts); });
}

}  // namespace metafuse::lab::experiments
