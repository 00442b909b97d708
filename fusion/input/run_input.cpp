#include "fusion/input/run_input.h"

#include <algorithm>

#include "evaluation/runs/judgments.h"
#include "evaluation/runs/run_file.h"
#include "fusion/data/derived_columns.h"
#include "fusion/data/features.h"
#include "fusion/input/input_share.h"
#include "fusion/input/pair_file.h"
#include "fusion/input/training_set_builder.h"

namespace metafuse::fusion {
namespace {

/// Where each expected feature stands among the names; npos for derived ones.
Result<std::vector<std::size_t>> places_of(const std::vector<Feature>& expected,
                                           const std::vector<std::string>& names) {
  std::vector<std::size_t> places;
  std::string missing;
  std::string unknown;
  for (const Feature& feature : expected) {
    const auto at = std::find(names.begin(), names.end(), feature.name);
    if (is_derived(feature)) continue;
    if (at == names.end()) missing += " " + feature.name;
    places.push_back(static_cast<std::size_t>(at - names.begin()));
  }
  for (const std::string& name : names)
    if (std::none_of(expected.begin(), expected.end(), [&](const Feature& f) { return f.name == name; }))
      unknown += " " + name;
  if (!missing.empty() || !unknown.empty())
    return fail(Code::bad_data, "the runs differ from those of the training input:" +
                                    (missing.empty() ? "" : " missing" + missing) +
                                    (unknown.empty() ? "" : " unknown" + unknown) + "; give the same lists");
  return places;
}

struct ListsOfQueries {
  std::vector<evaluation::Run> runs;
  std::vector<Feature> features;  ///< of the runs
  std::vector<Feature> derived;
  std::vector<int> depths;
};

Result<ListsOfQueries> read_lists(const TrainingInput& input) {
  TRY(auto runs, evaluation::read_runs(input.runs, {}, input.threads));
  ListsOfQueries lists;
  lists.runs = std::move(runs);
  if (input.expected.empty()) {
    for (const auto& run : lists.runs) lists.features.push_back({run.name, FeatureKind::rank, input.depth});
    TRY(auto derived, derived_features(input.derive, lists.features));
    lists.derived = std::move(derived);
  } else {
    std::vector<std::string> names;
    for (const auto& run : lists.runs) names.push_back(run.name);
    TRY(const auto places, places_of(input.expected, names));
    std::vector<evaluation::Run> ordered;
    for (const std::size_t place : places) ordered.push_back(lists.runs[place]);
    lists.runs = std::move(ordered);
    lists.derived = derived_of(input.expected);
    lists.features.assign(input.expected.begin(),
                          input.expected.end() - static_cast<std::ptrdiff_t>(lists.derived.size()));
  }
  for (std::size_t i = 0; i < lists.runs.size(); ++i) lists.depths.push_back(lists.features[i].depth);
  return lists;
}

/// Adds every instance of one query.
void add_query(const ListsOfQueries& lists, std::string_view query, const evaluation::QueryJudgments* judged,
               const TrainingInput& input, TrainingSetBuilder& builder, std::size_t& instances) {
  std::vector<std::vector<std::string_view>> ids(lists.runs.size());
  std::vector<RankedIds> views;
  for (std::size_t i = 0; i < lists.runs.size(); ++i) {
    if (const auto* topic = lists.runs[i].find(query))
      for (const auto& entry : topic->entries) ids[i].push_back(entry.document);
    views.emplace_back(ids[i]);
  }
  const QueryInstances found = collect_instances(views, lists.depths);
  instances = found.documents.size();
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < found.documents.size(); ++i) {
    cells.clear();
    const auto ranks = found.ranks_of(i);
    for (std::uint32_t j = 0; j < ranks.size(); ++j)
      if (ranks[j] > 0) cells.push_back({j, -static_cast<double>(ranks[j])});
    const auto* judgment = judged == nullptr ? nullptr : judged->find(found.documents[i]);
    InstanceRow row{query, found.documents[i], 0.0, judgment != nullptr || !input.is_unjudged_ignored, cells};
    if (judgment != nullptr) row.grade = kept_grade(judgment->grade, input);
    builder.add(row);
  }
}

}  // namespace

Result<TrainingSet> read_from_runs(const TrainingInput& input, TrainingInputReport& report) {
  if (input.qrels.empty() && input.pairs.empty())
    return fail(Code::usage, "--runs needs judgments; add --qrels FILE or --pairs FILE");
  TRY(auto lists, read_lists(input));
  evaluation::Judgments judgments;
  if (!input.qrels.empty()) {
    TRY(auto read, evaluation::read_qrels(input.qrels));
    judgments = std::move(read);
  }
  std::vector<std::string> queries;
  for (const auto& query : judgments.queries) queries.emplace_back(query.query);
  if (!input.pairs.empty()) {
    TRY(const auto named, queries_of_pairs(input.pairs));
    queries.insert(queries.end(), named.begin(), named.end());
    std::sort(queries.begin(), queries.end());
    queries.erase(std::unique(queries.begin(), queries.end()), queries.end());
  }
  TrainingSetBuilder builder;
  const InputShare share(input.communicator);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (i % share.parts != share.part) continue;
    const std::string& query = queries[i];
    std::size_t instances = 0;
    add_query(lists, query, judgments.find(query), input, builder, instances);
    ++report.judged_queries;
    if (instances == 0) ++report.unretrieved_queries;
  }
  auto set = builder.finish(lists.features, input.feedback);
  if (set) add_derived_columns(*set, lists.derived);
  return set;
}

}  // namespace metafuse::fusion
