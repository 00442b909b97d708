#include "fusion/input/input_files.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "core/diagnostics.h"
#include "core/keyed_hash.h"
#include "core/number.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/runs/lines.h"
#include "evaluation/runs/run_file.h"
#include "fusion/data/features.h"
#include "fusion/input/training_set_builder.h"

namespace metafuse::fusion {

std::vector<Feature> derived_of(const std::vector<Feature>& expected) {
  std::vector<Feature> derived;
  std::copy_if(expected.begin(), expected.end(), std::back_inserter(derived), is_derived);
  return derived;
}

namespace {

Result<std::uint32_t> find_document(const TrainingSet& set, const QueryRange& query, std::string_view id) {
  const auto row = set.documents.find_ascending(query.begin, query.end, id);
  if (!row)
    return fail(Code::bad_data, "the query \"" + query.id + "\" has no document \"" + std::string(id) +
                                    "\"; leave the pair out");
  return static_cast<std::uint32_t>(*row);
}

/// in: fields - qid document_below document_above weight
Result<WeightedPair> pair_of(std::span<const std::string_view> fields, const TrainingSet& set,
                             const QueryRange& query) {
  WeightedPair pair;
  TRY(pair.below, find_document(set, query, fields[1]));
  TRY(pair.above, find_document(set, query, fields[2]));
  if (!to_double(fields[3], pair.weight) || !std::isfinite(pair.weight) || pair.weight <= 0.0)
    return fail(Code::bad_data, "the weight \"" + std::string(fields[3]) + "\" must be a number above 0");
  if (pair.below == pair.above)
    return fail(Code::bad_data, "a document cannot be ranked above itself; leave the pair out");
  return pair;
}

/// Adds the pairs in a file to a training set. A line is `qid document_below document_above weight`.
///
/// in:     communicator - of the processes that hold the queries missing from this set, or null
///         most - how many pairs memory may hold
/// errors: with file and line: bad_data: an unknown query or document, a weight that is not positive; usage:
///         more pairs than memory may hold
Result<void> read_pairs(const std::string& path, Communicator* communicator, std::size_t most,
                        TrainingSet& set) {
  // For each pair, how many processes hold its query.
  std::vector<std::int64_t> finders;
  std::vector<std::size_t> lines;
  const auto unknown = [](std::string_view which) {
    return "the query" + std::string(which) + " occurs in no list and no judgment; leave the pair out";
  };
  const auto take = [&](std::span<const std::string_view> fields, std::size_t line) -> Result<void> {
    if (fields.size() != 4)
      return fail(Code::bad_data, "a pair is: qid document_below document_above weight");
    if (finders.size() >= most)
      return fail(Code::usage, fmt::format("--memory-limit: there is memory for {} pairs; raise it", most));
    const auto query = std::ranges::lower_bound(set.queries, fields[0], {}, &QueryRange::id);
    const bool is_here = query != set.queries.end() && query->id == fields[0];
    finders.push_back(is_here ? 1 : 0);
    lines.push_back(line);
    if (!is_here && communicator != nullptr) return {};  // another process has it
    if (!is_here) return fail(Code::bad_data, unknown(" \"" + std::string(fields[0]) + "\""));
    TRY(const auto pair, pair_of(fields, set, *query));
    set.pairs.push_back(pair);
    return {};
  };
  TRY_VOID(evaluation::for_each_record(path, take));
  sum_over_processes(communicator, finders);
  const auto lost = std::ranges::find(finders, 0);
  if (lost != finders.end()) {
    const std::size_t line = lines[static_cast<std::size_t>(lost - finders.begin())];
    return fail(Code::bad_data, located(path, {line, 0}, unknown("")));
  }
  if (finders.empty())
    return fail(Code::bad_data, path + ": contains no pairs; leave it out to learn from grades");
  std::ranges::sort(set.pairs, {}, [](const WeightedPair& pair) {
    return std::make_tuple(pair.below, pair.above, pair.weight);
  });
  return {};
}

/// The index of each expected feature among the names; derived features are skipped.
Result<std::vector<std::size_t>> places_of(const std::vector<Feature>& expected,
                                           const std::vector<std::string>& names) {
  std::vector<std::size_t> places;
  std::string missing;
  std::string unknown;
  for (const Feature& feature : expected) {
    if (is_derived(feature)) continue;
    const auto at = std::ranges::find(names, feature.name);
    if (at == names.end()) missing += " " + feature.name;
    places.push_back(static_cast<std::size_t>(at - names.begin()));
  }
  for (const std::string& name : names)
    if (std::ranges::find(expected, name, &Feature::name) == expected.end()) unknown += " " + name;
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

Result<ListsOfQueries> lists_of(std::vector<evaluation::Run> runs, const TrainingInput& input) {
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

/// Adds all instances of one query.
/// out: how many these are
std::size_t add_query(const ListsOfQueries& lists, std::string_view query,
                      const evaluation::QueryJudgments* judged, const TrainingInput& input,
                      TrainingSetBuilder& rows) {
  std::vector<std::vector<std::string_view>> ids(lists.runs.size());
  std::vector<RankedIds> views;
  for (std::size_t i = 0; i < lists.runs.size(); ++i) {
    if (const auto* topic = lists.runs[i].find(query))
      for (const auto& entry : topic->entries) ids[i].push_back(entry.document);
    views.emplace_back(ids[i]);
  }
  const QueryInstances found = collect_instances(views, lists.depths);
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < found.documents.size(); ++i) {
    set_rank_cells(found.ranks_of(i), cells);
    const auto* judgment = judged == nullptr ? nullptr : judged->find(found.documents[i]);
    InstanceRow row{query, found.documents[i], 0.0, judgment != nullptr || !input.is_unjudged_ignored, cells};
    if (judgment != nullptr) row.grade = kept_grade(judgment->grade, input);
    rows.add(row);
  }
  return found.documents.size();
}

/// Notes which queries were judged, and the grades of documents that no list holds.
void note_judgments(const evaluation::Judgments& judgments, const TrainingInput& input, TrainingSet& set) {
  for (QueryRange& query : set.queries) {
    const auto* judged = judgments.find(query.id);
    query.is_judged = judged != nullptr;
    if (judged == nullptr) continue;
    for (const evaluation::Judgment& judgment : judged->documents)
      if (!set.documents.find_ascending(query.begin, query.end, judgment.document))
        query.unlisted.push_back(kept_grade(judgment.grade, input));
  }
}

Result<TrainingSet> read_from_runs(const TrainingInput& input, TrainingInputReport& report) {
  if (input.qrels.empty() && input.pairs.empty())
    return fail(Code::usage, "--runs needs judgments; add --qrels FILE or --pairs FILE");
  TRY(auto runs, evaluation::read_runs(input.runs, {.may_be_empty = true}, input.threads));
  evaluation::Judgments judgments;
  if (!input.qrels.empty()) {
    TRY(judgments, evaluation::read_qrels(input.qrels));
  }
  auto set = training_set_of(std::move(runs), judgments, input, report);
  const bool is_whole = input.communicator == nullptr;  // else this is only one process's share
  if (set && is_whole && report.judged_queries > 0 && report.unretrieved_queries == report.judged_queries)
    return fail(Code::bad_data,
                (input.qrels.empty() ? input.pairs : input.qrels) +
                    ": shares no query with the runs; do both belong to the same collection?");
  return set;
}

}  // namespace

Result<void> apply_query_weights(const std::string& choice, TrainingSet& set) {
  using QueryWeights = FeedbackOptions::QueryWeights;
  set.feedback.query_weights = choice == "pairs" ? QueryWeights::pairs : QueryWeights::equal;
  if (choice == "pairs" || choice == "equal") return {};
  if (choice == "documents") {
    for (QueryRange& query : set.queries) query.weight = static_cast<double>(query.end - query.begin);
    return {};
  }
  TextMap<double> weights;
  const auto take = [&](std::span<const std::string_view> fields, std::size_t) -> Result<void> {
    double weight = 0.0;
    if (fields.size() != 2 || !to_double(fields[1], weight) || !std::isfinite(weight) || weight < 0.0)
      return fail(Code::bad_data, "a line is: qid weight (0 or more)");
    if (!weights.emplace(std::string(fields[0]), weight).second)
      return fail(Code::bad_data, "the query occurs twice; remove one line");
    return {};
  };
  TRY_VOID(evaluation::for_each_record(choice, take));
  for (QueryRange& query : set.queries) {
    const auto at = weights.find(query.id);
    if (at == weights.end())
      return fail(Code::bad_data, choice + ": no weight for the query \"" + query.id +
                                      "\"; add a line for it (0 leaves it out)");
    query.weight = at->second;
  }
  return {};
}

Result<TrainingSet> training_set_of(std::vector<evaluation::Run> runs, const evaluation::Judgments& judgments,
                                    const TrainingInput& input, TrainingInputReport& report) {
  TRY(auto lists, lists_of(std::move(runs), input));
  std::vector<std::string> queries;
  for (const auto& query : judgments.queries) queries.emplace_back(query.query);
  if (!input.pairs.empty()) {
    const auto take = [&](std::span<const std::string_view> fields, std::size_t) -> Result<void> {
      queries.emplace_back(fields[0]);
      return {};
    };
    TRY_VOID(evaluation::for_each_record(input.pairs, take));
    std::ranges::sort(queries);
    queries.erase(std::unique(queries.begin(), queries.end()), queries.end());
  }
  TrainingSetBuilder rows;
  const InputShare share(input.communicator);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (i % share.parts != share.part) continue;
    ++report.judged_queries;
    if (add_query(lists, queries[i], judgments.find(queries[i]), input, rows) == 0)
      ++report.unretrieved_queries;
  }
  TRY(auto set, rows.finish(lists.features, input.feedback));
  note_judgments(judgments, input, set);
  add_derived_columns(set, lists.derived);
  return set;
}

Result<TrainingSet> read_training_set(const TrainingInput& input, TrainingInputReport* report) {
  TrainingInputReport own;
  TrainingInputReport& told = report != nullptr ? *report : own;
  const int kinds = int(!input.runs.empty()) + int(!input.letor.empty()) + int(!input.letor_ranks.empty());
  if (kinds != 1)
    return fail(Code::usage,
                "one input is needed: --runs RUN... --qrels FILE, --letor FILE... or --letor-ranks FILE...");
  if (input.limit && (!input.runs.empty() || !input.derive.empty()))
    return fail(Code::usage, "--memory-limit is for the features of --letor and --letor-ranks; leave out --" +
                                 std::string(input.derive.empty() ? "runs" : "derive"));
  auto set = input.runs.empty() ? read_from_letor(input, told) : read_from_runs(input, told);
  if (!set) return set;
  TRY_VOID(apply_query_weights(input.query_weights, *set));
  std::size_t most_pairs = std::numeric_limits<std::size_t>::max();
  if (input.limit) {
    TRY(most_pairs, most_pairs_within(*input.limit, *set));
  }
  if (!input.pairs.empty()) TRY_VOID(read_pairs(input.pairs, input.communicator, most_pairs, *set));
  return set;
}

}  // namespace metafuse::fusion
