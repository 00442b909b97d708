#include "experiments/judged_queries.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "evaluation/significance/significance.h"
#include "experiments/data_sets.h"
#include "experiments/home_pages/home_pages.h"
#include "fusion/data/fused_order.h"
#include "fusion/input/input_files.h"

namespace metafuse::experiments {
namespace {

/// The number of documents of each grade from 1 on, in ascending order of grades.
template <class Grades>
std::vector<evaluation::GradeCount> counted(const Grades& grades) {
  std::map<int, std::size_t> counts;
  for (const int grade : grades)
    if (grade >= 1) ++counts[grade];
  std::vector<evaluation::GradeCount> out;
  for (const auto& [grade, count] : counts) out.push_back({grade, count});
  return out;
}

/// Per query, the relevant documents in its lists.
std::vector<std::vector<evaluation::GradeCount>> judged_in_lists(const fusion::TrainingSet& set) {
  std::vector<std::vector<evaluation::GradeCount>> out;
  for (const fusion::QueryRange& query : set.queries) {
    std::vector<int> grades;
    for (std::size_t row = query.begin; row < query.end; ++row)
      grades.push_back(static_cast<int>(set.grades[row]));
    out.push_back(counted(grades));
  }
  return out;
}

/// Divides the queries at random into fifths.
Result<void> cut_in_fifths(JudgedQueries& queries, std::uint64_t seed) {
  std::vector<std::string_view> ids;
  for (const fusion::QueryRange& query : queries.set.queries) ids.emplace_back(query.id);
  TRY(const auto folds, evaluation::random_folds(ids, kFifths, seed));
  queries.part_of = folds.fold_of;
  return {};
}

}  // namespace

Result<JudgedQueries> read_aggregation(const std::string& data, const std::string& name) {
  fusion::TrainingInput all;
  std::map<std::string, std::size_t, std::less<>> part_of;
  for (std::size_t i = 0; i < kFifths; ++i) {
    const std::string path = with_packing(fmt::format("{}/letor4-agg/{}/A{}.txt", data, name, i + 1));
    all.letor_ranks.push_back(path);
    fusion::TrainingInput input;
    input.letor_ranks = {path};
    TRY(const auto part, fusion::read_training_set(input));
    for (const fusion::QueryRange& query : part.queries) part_of[query.id] = i;
  }
  TRY(auto set, fusion::read_training_set(all));
  JudgedQueries out{name, std::move(set), {}, {}, true, 0};
  out.judged = judged_in_lists(out.set);
  for (const fusion::QueryRange& query : out.set.queries) out.part_of.push_back(part_of[query.id]);
  return out;
}

Result<JudgedQueries> judged_runs(Result<RunCollection> read, std::uint64_t seed) {
  TRY(auto collection, std::move(read));
  fusion::TrainingInputReport report;
  TRY(auto set, fusion::training_set_of(std::move(collection.runs), collection.judgments, {}, report));
  JudgedQueries out{collection.name, std::move(set), {}, {}, false, collection.limit};
  for (const fusion::QueryRange& query : out.set.queries) {
    std::vector<int> grades;
    for (const auto& each : collection.judgments.find(query.id)->documents) grades.push_back(each.grade);
    out.judged.push_back(counted(grades));
  }
  TRY_VOID(cut_in_fifths(out, seed));
  return out;
}

Result<JudgedQueries> record_demonstration(const ExperimentOptions& options, std::uint64_t seed) {
  TRY(const auto pages, home_pages::IndexedPages::open(options.data));
  home_pages::SampleOptions sampling;
  sampling.seed = seed;
  TRY(auto set, pages->record(sampling, options.threads));
  JudgedQueries out{"home pages", std::move(set), {}, {}, false, 0};
  out.judged = judged_in_lists(out.set);
  TRY_VOID(cut_in_fifths(out, options.seed));
  return out;
}

std::vector<double> values_of(const JudgedQueries& queries, const std::vector<std::size_t>& test,
                              const fusion::TrainingSet& set, const std::vector<double>& scores,
                              const evaluation::MeasureSet& measures) {
  const std::size_t limit = queries.limit > 0 ? queries.limit : set.matrix.document_count();
  std::vector<double> values;
  for (std::size_t i = 0; i < test.size(); ++i) {
    values.push_back(0.0);
    if (queries.judged[test[i]].empty()) continue;
    const fusion::QueryRange& query = set.queries[i];
    evaluation::JudgedRanking ranking;
    const std::vector<double> own(scores.begin() + static_cast<std::ptrdiff_t>(query.begin),
                                  scores.begin() + static_cast<std::ptrdiff_t>(query.end));
    for (const std::size_t row : fusion::fused_order(set.matrix, query.begin, query.end, own, set.documents))
      if (ranking.grades.size() < limit) ranking.grades.push_back(static_cast<int>(set.grades[row]));
    ranking.judged = queries.judged[test[i]];
    values.back() = evaluation::evaluate(measures, ranking, {})[0];
  }
  return values;
}

}  // namespace metafuse::experiments
