#include "fusion/input/pair_file.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include "core/diagnostics.h"
#include "core/number.h"
#include "core/text_file.h"
#include "fusion/input/input_share.h"

namespace metafuse::fusion {
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

Result<void> read_pairs(const std::string& path, Communicator* communicator, TrainingSet& set) {
  std::vector<std::int64_t> finders;  // a pair: how many ranks hold its query
  std::vector<std::size_t> lines;
  const auto unknown = [&](std::size_t number, std::string_view query) {
    return fail(Code::bad_data, located(path, {number, 0},
                                        "no list and no judgment knows the query" +
                                            (query.empty() ? "" : " \"" + std::string(query) + "\"") +
                                            "; leave the pair out"));
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
    if (query == nullptr && communicator != nullptr) return {};  // of another rank
    if (query == nullptr) return unknown(number, fields[0]);
    const auto below = find_document(set, *query, fields[1]);
    if (!below) return bad(below.error().text + "; leave the pair out");
    const auto above = find_document(set, *query, fields[2]);
    if (!above) return bad(above.error().text + "; leave the pair out");
    double weight = 0.0;
    if (!to_double(fields[3], weight) || !std::isfinite(weight) || weight <= 0.0)
      return bad("the weight \"" + std::string(fields[3]) + "\" is no number above 0; give one");
    if (*below == *above) return bad("a document cannot stand above itself; leave the pair out");
    set.pairs.push_back({*below, *above, weight});
    return {};
  });
  if (!read) return read;
  sum_over_ranks(communicator, finders);
  const auto lost = std::find(finders.begin(), finders.end(), 0);
  if (lost != finders.end()) return unknown(lines[static_cast<std::size_t>(lost - finders.begin())], {});
  if (finders.empty())
    return fail(Code::bad_data, path + ": holds no pair; leave it out to learn from grades");
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
      return fail(Code::bad_data, located(choice, {number, 0}, "the query stands twice"));
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

}  // namespace metafuse::fusion
