#include "fusion/input/input_files.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include "core/diagnostics.h"
#include "core/number.h"
#include "core/text_file.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/runs/run_file.h"
#include "fusion/data/features.h"
#include "fusion/input/training_set_builder.h"

namespace metafuse::fusion {

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
  if (!input.pairs.empty()) TRY_VOID(read_pairs(input.pairs, input.communicator, *set));
  return set;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = end;
  }
  return fields;
}

std::vector<Feature> derived_of(const std::vector<Feature>& expected) {
  std::vector<Feature> derived;
  std::copy_if(expected.begin(), expected.end(), std::back_inserter(derived), is_derived);
  return derived;
}

namespace {

const QueryRange* find_query(const TrainingSet& set, std::string_view id) {
  const auto at =
      std::lower_bound(set.queries.begin(), set.queries.end(), id,
                       [](const QueryRange& query, std::string_view key) { return query.id < key; });
  return at == set.queries.end() || at->id != id ? nullptr : &*at;
}

Result<std::uint32_t> find_document(const TrainingSet& set, const QueryRange& query, std::string_view id) {
  const auto row = set.documents.find_ascending(query.begin, query.end, id);
  if (!row)
    return fail(Code::bad_data, "the query \"" + query.id + "\" has no document \"" + std::string(id) + "\"");
  return static_cast<std::uint32_t>(*row);
}

}  // namespace

Result<std::vector<std::string>> queries_of_pairs(const std::string& path) {
  std::vector<std::string> queries;
  auto read = for_each_line(path, [&](std::string_view line, std::size_t) -> Result<void> {
    const auto fields = fields_of(line);
    if (!fields.empty() && !fields[0].starts_with('#')) queries.emplace_back(fields[0]);
    return {};
  });
  if (!read) return read.error();
  std::sort(queries.begin(), queries.end());
  queries.erase(std::unique(queries.begin(), queries.end()), queries.end());
  return queries;
}

Result<void> read_pairs(const std::string& path, Communicator* communicator, TrainingSet& set) {
  // For each pair, how many processes hold its query.
  std::vector<std::int64_t> finders;
  std::vector<std::size_t> lines;
  const auto unknown = [&](std::size_t number, std::string_view query) {
    return fail(Code::bad_data,
                located(path, {number, 0},
                        "the query" + (query.empty() ? "" : " \"" + std::string(query) + "\"") +
                            " occurs in no list and no judgment; leave the pair out"));
  };
  auto read = for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    const auto fields = fields_of(line);
    if (fields.empty() || fields[0].starts_with('#')) return {};
    const auto bad = [&](const std::string& what) {
      return fail(Code::bad_data, located(path, {number, 0}, what));
    };
    if (fields.size() != 4) return bad("a pair is: qid document_below document_above weight");
    const QueryRange* query = find_query(set, fields[0]);
    finders.push_back(query == nullptr ? 0 : 1);
    lines.push_back(number);
    if (query == nullptr && communicator != nullptr) return {};  // another process has it
    if (query == nullptr) return unknown(number, fields[0]);
    const auto below = find_document(set, *query, fields[1]);
    if (!below) return bad(below.error().text + "; leave the pair out");
    const auto above = find_document(set, *query, fields[2]);
    if (!above) return bad(above.error().text + "; leave the pair out");
    double weight = 0.0;
    if (!to_double(fields[3], weight) || !std::isfinite(weight) || weight <= 0.0)
      return bad("the weight \"" + std::string(fields[3]) + "\" must be a number above 0");
    if (*below == *above) return bad("a document cannot be ranked above itself; leave the pair out");
    set.pairs.push_back({*below, *above, weight});
    return {};
  });
  if (!read) return read;
  sum_over_processes(communicator, finders);
  const auto lost = std::find(finders.begin(), finders.end(), 0);
  if (lost != finders.end()) return unknown(lines[static_cast<std::size_t>(lost - finders.begin())], {});
  if (finders.empty())
    return fail(Code::bad_data, path + ": contains no pairs; leave it out to learn from grades");
  std::sort(set.pairs.begin(), set.pairs.end(), [](const WeightedPair& a, const WeightedPair& b) {
    return std::tie(a.below, a.above, a.weight) < std::tie(b.below, b.above, b.weight);
  });
  return {};
}

Result<void> apply_query_weights(const std::string& choice, TrainingSet& set) {
  if (choice == "pairs" || choice == "equal") {
    set.feedback.query_weights =
        choice == "equal" ? FeedbackOptions::QueryWeights::equal : FeedbackOptions::QueryWeights::pairs;
    return {};
  }
  set.feedback.query_weights = FeedbackOptions::QueryWeights::given;
  if (choice == "documents") {
    for (QueryRange& query : set.queries) query.weight = static_cast<double>(query.end - query.begin);
    return {};
  }
  std::unordered_map<std::string, double> weights;
  auto read = for_each_line(choice, [&](std::string_view line, std::size_t number) -> Result<void> {
    const auto fields = fields_of(line);
    if (fields.empty() || fields[0].starts_with('#')) return {};
    double weight = 0.0;
    if (fields.size() != 2 || !to_double(fields[1], weight) || !std::isfinite(weight) || weight < 0.0)
      return fail(Code::bad_data, located(choice, {number, 0}, "a line is: qid weight (0 or more)"));
    if (!weights.emplace(std::string(fields[0]), weight).second)
      return fail(Code::bad_data, located(choice, {number, 0}, "the query occurs twice; remove one line"));
    return {};
  });
  if (!read) return read;
  for (QueryRange& query : set.queries) {
    const auto at = weights.find(query.id);
    if (at == weights.end())
      return fail(Code::bad_data, choice + ": no weight for the query \"" + query.id +
                                      "\"; add a line for it (0 leaves it out)");
    query.weight = at->second;
  }
  return {};
}

namespace {

/// The index of each expected feature among the names; derived features are skipped.
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
/// in: scores - receives the lists' scores, row by row; nullptr if no feature is a score
void add_query(const ListsOfQueries& lists, std::string_view query, const evaluation::QueryJudgments* judged,
               const TrainingInput& input, TrainingSetBuilder& builder, std::vector<double>* scores,
               std::size_t& instances) {
  std::vector<std::vector<std::string_view>> ids(lists.runs.size());
  std::vector<std::vector<double>> given(lists.runs.size());
  std::vector<RankedIds> views;
  for (std::size_t i = 0; i < lists.runs.size(); ++i) {
    if (const auto* topic = lists.runs[i].find(query))
      for (const auto& entry : topic->entries) {
        ids[i].push_back(entry.document);
        if (scores != nullptr) given[i].push_back(entry.score);
      }
    views.emplace_back(ids[i]);
  }
  QueryInstances found = collect_instances(views, lists.depths);
  if (scores != nullptr) {
    set_scores(found, given);
    scores->insert(scores->end(), found.scores.begin(), found.scores.end());
  }
  instances = found.documents.size();
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < found.documents.size(); ++i) {
    set_rank_cells(found.ranks_of(i), cells);
    const auto* judgment = judged == nullptr ? nullptr : judged->find(found.documents[i]);
    InstanceRow row{query, found.documents[i], 0.0, judgment != nullptr || !input.is_unjudged_ignored, cells};
    if (judgment != nullptr) row.grade = kept_grade(judgment->grade, input);
    builder.add(row);
  }
}

}  // namespace

Result<TrainingSet> training_set_of(std::vector<evaluation::Run> runs, const evaluation::Judgments& judgments,
                                    const TrainingInput& input, TrainingInputReport& report) {
  TRY(auto lists, lists_of(std::move(runs), input));
  std::vector<std::string> queries;
  for (const auto& query : judgments.queries) queries.emplace_back(query.query);
  if (!input.pairs.empty()) {
    TRY(const auto named, queries_of_pairs(input.pairs));
    queries.insert(queries.end(), named.begin(), named.end());
    std::sort(queries.begin(), queries.end());
    queries.erase(std::unique(queries.begin(), queries.end()), queries.end());
  }
  TrainingSetBuilder builder;
  // Queries, and the documents within them, ascend here just as the rows of the set do, so scores line up
  // with rows.
  std::vector<double> scores;
  std::vector<double>* const wanted = uses_scores(lists.derived) ? &scores : nullptr;
  const InputShare share(input.communicator);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (i % share.parts != share.part) continue;
    const std::string& query = queries[i];
    std::size_t instances = 0;
    add_query(lists, query, judgments.find(query), input, builder, wanted, instances);
    ++report.judged_queries;
    if (instances == 0) ++report.unretrieved_queries;
  }
  auto set = builder.finish(lists.features, input.feedback);
  if (set) add_derived_columns(*set, lists.derived, scores);
  return set;
}

Result<TrainingSet> read_from_runs(const TrainingInput& input, TrainingInputReport& report) {
  if (input.qrels.empty() && input.pairs.empty())
    return fail(Code::usage, "--runs needs judgments; add --qrels FILE or --pairs FILE");
  TRY(auto runs, evaluation::read_runs(input.runs, {}, input.threads));
  evaluation::Judgments judgments;
  if (!input.qrels.empty()) {
    TRY(judgments, evaluation::read_qrels(input.qrels));
  }
  return training_set_of(std::move(runs), judgments, input, report);
}

}  // namespace metafuse::fusion
