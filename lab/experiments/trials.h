#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/parallel.h"
#include "core/result.h"
#include "evaluation/measures/measure.h"
#include "fusion/data/training_set.h"
#include "fusion/model/sum_ranker.h"
#include "fusion/training/registry.h"
#include "lab/experiments/experiment.h"

namespace metafuse::lab::experiments {

/// Calls work(i) for every i below `count` on several threads and reports progress after each.
///
/// out:    the results in the order of i, so they do not depend on the number of threads
/// errors: the one of the lowest i
template <class Work>
auto run_all(std::size_t count, unsigned threads, const ProgressReport& progress, const Work& work)
    -> Result<std::vector<typename std::invoke_result_t<Work, std::size_t>::value_type>> {
  std::vector<std::optional<std::invoke_result_t<Work, std::size_t>>> slots(count);
  std::size_t done = 0;
  std::mutex mutex;
  parallel_for(count, threads, [&](std::size_t i) {
    slots[i].emplace(work(i));
    const std::lock_guard lock(mutex);
    ++done;
    if (progress) progress(done, count);
  });
  std::vector<typename std::invoke_result_t<Work, std::size_t>::value_type> results;
  results.reserve(count);
  for (auto& slot : slots) {
    if (!*slot) return slot->error();
    results.push_back(std::move(**slot));
  }
  return results;
}

template <class Work>
auto run_all(std::size_t count, const ExperimentOptions& options, const Work& work) {
  return run_all(count, options.threads, options.progress, work);
}

/// A learner of the laboratory's table with its options, as a row of an experiment's table.
struct Method {
  std::string name;          ///< as tables show it
  std::string learner = {};  ///< empty: the name
  std::map<std::string, std::string> options = {};
};

/// in: request - everything but the set and the options
Result<fusion::Model> train(const Method& method, const fusion::TrainingSet& set,
                            fusion::TrainingRequest request = {});
Result<fusion::Model> train_with(const fusion::Learner& learner, const fusion::TrainingSet& set,
                                 fusion::TrainingRequest request);

/// The weak rankings, in the order of the rounds, of a model that is a sum of thresholded features.
/// errors: internal for another model
Result<std::vector<fusion::WeakRanking>> rounds_of(const fusion::Model& model);

/// A measure of a set's scores while a model grows: before the first round and after each of `rounds`. A
/// model of fewer rounds keeps its last value.
template <class Measure>
auto followed(const fusion::TrainingSet& set, const std::vector<fusion::WeakRanking>& model,
              std::size_t rounds, const Measure& measure) {
  std::vector<double> scores(set.matrix.document_count(), 0.0);
  std::vector<std::invoke_result_t<Measure, const std::vector<double>&>> values(1, measure(scores));
  for (std::size_t t = 0; t < rounds; ++t) {
    if (t < model.size()) fusion::add_to_scores(set.matrix, model[t], scores);
    values.push_back(t < model.size() ? measure(scores) : values.back());
  }
  return values;
}

/// Computes measures of every query of a set. Equal scores are ordered by the rule of fusion: more lists,
/// better best rank, id. Judged documents that no list holds count as not found.
class QueryMeasures {
 public:
  /// The first two arguments must outlive this object.
  /// in: limit - how many documents of a ranking count; 0: all
  QueryMeasures(const fusion::TrainingSet& set, const evaluation::MeasureSet& measures,
                std::size_t limit = 0);

  /// in:  one score per document
  /// out: queries x measures
  std::vector<std::vector<double>> of(const std::vector<double>& scores) const;
  /// The means over the queries, one per measure.
  std::vector<double> means(const std::vector<double>& scores) const { return means_of(of(scores)); }

 private:
  const fusion::TrainingSet* set_;
  const evaluation::MeasureSet* measures_;
  std::size_t limit_;
  std::vector<std::vector<std::uint32_t>> tie_order_;  // per query: row numbers relative to its first row
};

}  // namespace metafuse::lab::experiments
