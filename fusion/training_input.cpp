#include "fusion/training_input.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <unordered_map>

#include "core/diagnostics.h"
#include "core/number.h"
#include "core/text_file.h"
#include "evaluation/judgments.h"
#include "evaluation/letor_file.h"
#include "evaluation/run_file.h"
#include "fusion/derived_columns.h"
#include "fusion/features.h"
#include "fusion/training_set_builder.h"

namespace metafuse::fusion {
namespace {

double kept_grade(double grade, const TrainingInput& input) {
  return grade < 0.0 && !input.are_negative_grades_kept ? 0.0 : grade;
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

/// Which part of the queries this process reads.
struct Share {
  std::size_t part = 0;
  std::size_t parts = 1;

  explicit Share(const Communicator* communicator) {
    if (communicator == nullptr) return;
    part = static_cast<std::size_t>(communicator->rank());
    parts = static_cast<std::size_t>(communicator->size());
  }
};

/// The second field of a LETOR line.
std::string_view query_of_line(std::string_view line) {
  const auto fields = line.substr(0, std::min(line.find('#'), line.size()));
  const std::size_t at = fields.find("qid:");
  if (at == std::string_view::npos) return {};
  return fields.substr(at, std::min(fields.find_first_of(" \t\r", at), fields.size()) - at);
}

/// The first place at or behind `offset` where a line of another query begins.
std::size_t query_start(std::string_view text, std::size_t offset) {
  if (offset == 0 || offset >= text.size()) return std::min(offset, text.size());
  const std::size_t previous = text.rfind('\n', offset - 1);
  std::size_t at = previous == std::string_view::npos ? 0 : previous + 1;
  if (at == offset && at >= 2) {  // a line begins here: look at the one before
    const std::size_t before = text.rfind('\n', at - 2);
    at = before == std::string_view::npos ? 0 : before + 1;
  }
  const std::string_view query = query_of_line(text.substr(at, text.find('\n', at) - at));
  for (;;) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos || end + 1 >= text.size()) return text.size();
    at = end + 1;
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (at >= offset && query_of_line(line) != query) return at;
  }
}

/// Every row of the file, or of this rank's part of it.
Result<void> for_each_own_row(const std::string& path, const evaluation::LetorOptions& options,
                              const Share& share, const evaluation::TakeLetorRow& take) {
  if (share.parts == 1) return evaluation::for_each_letor_row(path, options, take);
  const auto file = open_text(path);
  if (!file) return file.error();
  const std::string_view text = file->text;
  const std::size_t begin = query_start(text, text.size() / share.parts * share.part);
  const std::size_t end = share.part + 1 == share.parts
                              ? text.size()
                              : query_start(text, text.size() / share.parts * (share.part + 1));
  const std::string_view own = text.substr(begin, end - begin);
  const auto first_line = 1 + static_cast<std::size_t>(std::count(
                                  text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
  return evaluation::parse_letor_lines(path, own, first_line, options, take);
}

/// The largest of all ranks' numbers.
std::size_t largest_of_ranks(Communicator* communicator, std::size_t own) {
  double largest = 0.0;
  for (const double number : numbers_of_ranks(communicator, {static_cast<double>(own)}))
    largest = std::max(largest, number);
  return static_cast<std::size_t>(largest);
}

/// errors: bad_data when two ranks hold lines of one query
Result<void> check_parts_differ(const TrainingSet& set, Communicator* communicator) {
  if (communicator == nullptr) return {};
  std::string ids;
  for (const QueryRange& query : set.queries) ids += query.id + '\n';
  std::set<std::string> seen;
  for (const std::string& part : communicator->gather(ids))
    for (std::size_t at = 0; at < part.size();) {
      const std::size_t end = part.find('\n', at);
      const std::string id = part.substr(at, end - at);
      if (!seen.insert(id).second)
        return fail(Code::bad_data,
                    "the lines of query \"" + id +
                        "\" do not stand together, so that ranks cannot share the files; sort them "
                        "by query");
      at = end + 1;
    }
  return {};
}

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

/// The derived features behind the rank features that a set must have.
std::vector<Feature> derived_of(const std::vector<Feature>& expected) {
  std::vector<Feature> derived;
  std::copy_if(expected.begin(), expected.end(), std::back_inserter(derived), is_derived);
  return derived;
}

struct ListsOfQueries {
  std::vector<evaluation::Run> runs;
  std::vector<Feature> features;  ///< of the runs
  std::vector<Feature> derived;
  std::vector<int> depths;
};

Result<ListsOfQueries> read_lists(const TrainingInput& input) {
  auto runs = evaluation::read_runs(input.runs, {}, input.threads);
  if (!runs) return runs.error();
  ListsOfQueries lists;
  lists.runs = std::move(*runs);
  if (input.expected.empty()) {
    for (const auto& run : lists.runs) lists.features.push_back({run.name, FeatureKind::rank, input.depth});
    auto derived = derived_features(input.derive, lists.features);
    if (!derived) return derived.error();
    lists.derived = std::move(*derived);
  } else {
    std::vector<std::string> names;
    for (const auto& run : lists.runs) names.push_back(run.name);
    const auto places = places_of(input.expected, names);
    if (!places) return places.error();
    std::vector<evaluation::Run> ordered;
    for (const std::size_t place : *places) ordered.push_back(lists.runs[place]);
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

/// The queries that --pairs names, ascending.
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

Result<TrainingSet> read_from_runs(const TrainingInput& input, TrainingInputReport& report) {
  if (input.qrels.empty() && input.pairs.empty())
    return fail(Code::usage, "--runs needs judgments; add --qrels FILE or --pairs FILE");
  auto lists = read_lists(input);
  if (!lists) return lists.error();
  evaluation::Judgments judgments;
  if (!input.qrels.empty()) {
    auto read = evaluation::read_qrels(input.qrels);
    if (!read) return read.error();
    judgments = std::move(*read);
  }
  std::vector<std::string> queries;
  for (const auto& query : judgments.queries) queries.emplace_back(query.query);
  if (!input.pairs.empty()) {
    const auto named = queries_of_pairs(input.pairs);
    if (!named) return named.error();
    queries.insert(queries.end(), named->begin(), named->end());
    std::sort(queries.begin(), queries.end());
    queries.erase(std::unique(queries.begin(), queries.end()), queries.end());
  }
  TrainingSetBuilder builder;
  const Share share(input.communicator);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (i % share.parts != share.part) continue;
    const std::string& query = queries[i];
    std::size_t instances = 0;
    add_query(*lists, query, judgments.find(query), input, builder, instances);
    ++report.judged_queries;
    if (instances == 0) ++report.unretrieved_queries;
  }
  auto set = builder.finish(lists->features, input.feedback);
  if (set) add_derived_columns(*set, lists->derived);
  return set;
}

/// A row of an aggregation file: ranks become features.
void take_ranks(const evaluation::LetorRow& row, int depth, std::vector<Cell>& cells) {
  cells.clear();
  for (const auto& cell : row.cells) {
    if (cell.is_unranked || (depth > 0 && cell.value > depth)) continue;
    cells.push_back({cell.index - 1, -cell.value});
  }
}

/// The features that stand in files which name `count` of them.
Result<std::vector<Feature>> letor_features(const TrainingInput& input, std::size_t count) {
  const bool are_ranks = !input.letor_ranks.empty();
  std::vector<Feature> features;
  if (!input.expected.empty()) {
    std::copy_if(input.expected.begin(), input.expected.end(), std::back_inserter(features),
                 [](const Feature& feature) { return !is_derived(feature); });
    if (count > features.size())
      return fail(Code::bad_data, (are_ranks ? input.letor_ranks : input.letor).front() + ": names feature " +
                                      std::to_string(count) + ", but the training input has " +
                                      std::to_string(features.size()) + "; give files of one kind");
    return features;
  }
  for (std::size_t i = 1; i <= count; ++i)
    features.push_back(
        {std::to_string(i), are_ranks ? FeatureKind::rank : FeatureKind::value, are_ranks ? input.depth : 0});
  return features;
}

Result<std::vector<Feature>> letor_derived(const TrainingInput& input, const std::vector<Feature>& features) {
  if (!input.expected.empty()) return derived_of(input.expected);
  auto derived = derived_features(input.derive, features);
  if (derived && !derived->empty() && input.letor_ranks.empty())
    return fail(Code::usage, "--derive needs rank features; use it with --runs or --letor-ranks");
  return derived;
}

Result<TrainingSet> read_from_letor(const TrainingInput& input, TrainingInputReport& report) {
  const bool are_ranks = !input.letor_ranks.empty();
  TrainingSetBuilder builder;
  std::vector<Cell> cells;
  std::size_t count = 0;
  for (const std::string& file : are_ranks ? input.letor_ranks : input.letor) {
    auto read = for_each_own_row(
        file, {are_ranks}, Share(input.communicator), [&](const evaluation::LetorRow& row) -> Result<void> {
          if (!row.cells.empty()) count = std::max<std::size_t>(count, row.cells.back().index);
          if (are_ranks) {
            take_ranks(row, input.expected.empty() ? input.depth : input.expected.front().depth, cells);
          } else {
            cells.clear();
            for (const auto& cell : row.cells)
              cells.push_back(
                  {cell.index - 1, cell.is_unranked ? std::numeric_limits<double>::quiet_NaN() : cell.value});
          }
          builder.add({row.query, row.document, kept_grade(row.grade, input), true, cells});
          return {};
        });
    if (!read) return read.error();
  }
  const auto features = letor_features(input, largest_of_ranks(input.communicator, count));
  if (!features) return features.error();
  const auto derived = letor_derived(input, *features);
  if (!derived) return derived.error();
  auto set = builder.finish(*features, input.feedback, !are_ranks && !input.is_absent_unranked);
  if (!set) return set;
  add_derived_columns(*set, *derived);
  if (auto apart = check_parts_differ(*set, input.communicator); !apart) return apart.error();
  report.judged_queries = set->queries.size();
  return set;
}

const QueryRange* find_query(const TrainingSet& set, std::string_view id) {
  const auto at =
      std::lower_bound(set.queries.begin(), set.queries.end(), id,
                       [](const QueryRange& query, std::string_view key) { return query.id < key; });
  return at == set.queries.end() || at->id != id ? nullptr : &*at;
}

Result<std::uint32_t> find_document(const TrainingSet& set, const QueryRange& query, std::string_view id) {
  const auto begin = set.documents.begin() + static_cast<std::ptrdiff_t>(query.begin);
  const auto end = set.documents.begin() + static_cast<std::ptrdiff_t>(query.end);
  const auto at = std::lower_bound(begin, end, id);
  if (at == end || *at != id)
    return fail(Code::bad_data, "the query \"" + query.id + "\" has no document \"" + std::string(id) + "\"");
  return static_cast<std::uint32_t>(at - set.documents.begin());
}

Result<void> read_pairs(const std::string& path, bool is_shared, TrainingSet& set) {
  auto read = for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    const auto fields = fields_of(line);
    if (fields.empty() || fields[0].starts_with('#')) return {};
    const auto bad = [&](const std::string& what) {
      return fail(Code::bad_data, located(path, {number, 0}, what));
    };
    if (fields.size() != 4) return bad("a pair is: qid document_below document_above weight");
    const QueryRange* query = find_query(set, fields[0]);
    if (query == nullptr && is_shared) return {};  // of another rank
    if (query == nullptr)
      return bad("no list and no judgment knows the query \"" + std::string(fields[0]) + "\"");
    const auto below = find_document(set, *query, fields[1]);
    if (!below) return bad(below.error().text + "; leave the pair out");
    const auto above = find_document(set, *query, fields[2]);
    if (!above) return bad(above.error().text + "; leave the pair out");
    double weight = 0.0;
    if (!to_double(fields[3], weight) || !std::isfinite(weight) || weight <= 0.0)
      return bad("the weight \"" + std::string(fields[3]) + "\" is no positive number");
    if (*below == *above) return bad("a document cannot stand above itself");
    set.pairs.push_back({*below, *above, weight});
    return {};
  });
  if (!read) return read;
  std::sort(set.pairs.begin(), set.pairs.end(), [](const WeightedPair& a, const WeightedPair& b) {
    return std::tie(a.below, a.above, a.weight) < std::tie(b.below, b.above, b.weight);
  });
  return {};
}

Result<void> apply_query_weights(const TrainingInput& input, TrainingSet& set) {
  if (input.query_weights == "pairs" || input.query_weights == "equal") {
    set.feedback.query_weights = input.query_weights == "equal" ? FeedbackOptions::QueryWeights::equal
                                                                : FeedbackOptions::QueryWeights::pairs;
    return {};
  }
  set.feedback.query_weights = FeedbackOptions::QueryWeights::given;
  std::unordered_map<std::string, double> weights;
  auto read =
      for_each_line(input.query_weights, [&](std::string_view line, std::size_t number) -> Result<void> {
        const auto fields = fields_of(line);
        if (fields.empty() || fields[0].starts_with('#')) return {};
        double weight = 0.0;
        if (fields.size() != 2 || !to_double(fields[1], weight) || !std::isfinite(weight) || weight < 0.0)
          return fail(Code::bad_data,
                      located(input.query_weights, {number, 0}, "a line is: qid weight (0 or more)"));
        if (!weights.emplace(std::string(fields[0]), weight).second)
          return fail(Code::bad_data, located(input.query_weights, {number, 0}, "the query stands twice"));
        return {};
      });
  if (!read) return read;
  for (QueryRange& query : set.queries) {
    const auto at = weights.find(query.id);
    if (at == weights.end())
      return fail(Code::bad_data, input.query_weights + ": no weight for the query \"" + query.id +
                                      "\"; add a line for it (0 leaves it out)");
    query.weight = at->second;
  }
  return {};
}

}  // namespace

Result<TrainingSet> read_training_set(const TrainingInput& input, TrainingInputReport* report) {
  TrainingInputReport own;
  TrainingInputReport& told = report != nullptr ? *report : own;
  const int kinds = int(!input.runs.empty()) + int(!input.letor.empty()) + int(!input.letor_ranks.empty());
  if (kinds != 1)
    return fail(Code::usage,
                "one input is needed: --runs RUN... --qrels FILE, --letor FILE... or --letor-ranks FILE...");
  auto set = input.runs.empty() ? read_from_letor(input, told) : read_from_runs(input, told);
  if (!set) return set;
  if (auto weighted = apply_query_weights(input, *set); !weighted) return weighted.error();
  if (!input.pairs.empty())
    if (auto read = read_pairs(input.pairs, input.communicator != nullptr, *set); !read) return read.error();
  return set;
}

}  // namespace metafuse::fusion
