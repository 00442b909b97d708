#include "fusion/data/training_set.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/contract.h"

namespace metafuse::fusion {
namespace {

/// Keeps some rows of a coded column, and the values of its dictionary that these rows use.
CodedColumn select_rows(const CodedColumn& column, const std::vector<std::uint32_t>& rows) {
  std::vector<std::uint32_t> translated(column.values.size() + 1, 0);
  for (const std::uint32_t row : rows) translated[column.code(row)] = 1;
  translated[0] = 0;
  std::vector<double> values;
  for (std::size_t code = 1; code < translated.size(); ++code) {
    if (translated[code] == 0) continue;
    values.push_back(column.values[code - 1]);
    translated[code] = static_cast<std::uint32_t>(values.size());
  }
  std::vector<std::uint32_t> codes;
  codes.reserve(rows.size());
  for (const std::uint32_t row : rows) codes.push_back(translated[column.code(row)]);
  return coded_column(std::move(values), std::move(codes));
}

FeatureMatrix select_rows(const FeatureMatrix& matrix, const std::vector<std::uint32_t>& rows) {
  if (matrix.feature_count() > 0 && matrix.column(0) != nullptr) {
    std::vector<CodedColumn> columns;
    for (std::size_t f = 0; f < matrix.feature_count(); ++f)
      columns.push_back(select_rows(*matrix.column(f), rows));
    return {matrix.features(), rows.size(), std::move(columns)};
  }
  FeatureMatrix out(matrix.features(), rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t f = 0; f < matrix.feature_count(); ++f)
      if (!matrix.is_unranked(rows[row], f)) out.set(row, f, matrix.value(rows[row], f));
  return out;
}

class Digest {
 public:
  void add(std::uint64_t word) {
    state_ ^= word + 0x9e3779b97f4a7c15U;
    state_ = (state_ ^ state_ >> 30) * 0xbf58476d1ce4e5b9U;
    state_ = (state_ ^ state_ >> 27) * 0x94d049bb133111ebU;
    state_ ^= state_ >> 31;
  }
  void add(double number) { add(std::bit_cast<std::uint64_t>(number)); }
  void add(std::string_view text) {
    add(text.size());
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }
  std::uint64_t state() const { return state_; }

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3U;
};

std::string text_of(std::uint64_t state) {
  return fmt::format("{:016x}", state);
}

enum Part { kQueries, kDocuments, kGrades, kValues, kPairs, kPartCount };

void add_to(std::int64_t& sum, const Digest& digest) {
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + digest.state());
}

/// Adds the digest of one feature's values, query by query. Column by column, because columns may lie in
/// a file.
void add_value_bytes(const TrainingSet& set, std::size_t feature, std::int64_t& sum) {
  for (const QueryRange& query : set.queries) {
    Digest digest;
    digest.add(std::string_view(query.id));
    digest.add(static_cast<std::uint64_t>(feature));
    for (std::size_t row = query.begin; row < query.end; ++row) {
      if (set.matrix.is_unranked(row, feature))
        digest.add(~std::uint64_t{0});
      else
        digest.add(set.matrix.value(row, feature));
    }
    add_to(sum, digest);
  }
}

/// Adds one query's digests except those of its values. They are sums, so that processes can add theirs up.
void add_query_bytes(const TrainingSet& set, const QueryRange& query, std::size_t& next_pair,
                     std::vector<std::int64_t>& sums) {
  std::array<Digest, kPartCount> parts;
  for (Digest& part : parts) part.add(std::string_view(query.id));
  parts[kQueries].add(static_cast<std::uint64_t>(query.end - query.begin));
  parts[kQueries].add(query.weight);
  for (std::size_t row = query.begin; row < query.end; ++row) {
    parts[kDocuments].add(set.documents[row]);
    parts[kGrades].add(set.grades[row]);
    parts[kGrades].add(static_cast<std::uint64_t>(set.in_feedback[row]));
  }
  parts[kGrades].add(static_cast<std::uint64_t>(query.is_judged ? 1 : 0));
  for (const double grade : query.unlisted) parts[kGrades].add(grade);
  for (; next_pair < set.pairs.size() && set.pairs[next_pair].below < query.end; ++next_pair) {
    const WeightedPair& pair = set.pairs[next_pair];
    parts[kPairs].add(static_cast<std::uint64_t>(pair.below - query.begin) << 32 |
                      (pair.above - query.begin));
    parts[kPairs].add(pair.weight);
  }
  for (std::size_t part = 0; part < kPartCount; ++part) add_to(sums[part], parts[part]);
}

/// Adds the pairs of a query whose documents begin at another row now.
void add_pairs(const TrainingSet& set, const QueryRange& query, std::size_t begin,
               std::vector<WeightedPair>& pairs) {
  const auto moved = [&](std::uint32_t row) { return static_cast<std::uint32_t>(row - query.begin + begin); };
  const auto first = std::ranges::lower_bound(set.pairs, query.begin, {}, &WeightedPair::below);
  for (auto pair = first; pair != set.pairs.end() && pair->below < query.end; ++pair)
    pairs.push_back({moved(pair->below), moved(pair->above), pair->weight});
}

}  // namespace

std::vector<double> judged_grades(const TrainingSet& set, const QueryRange& query) {
  std::vector<double> grades(set.grades.begin() + static_cast<std::ptrdiff_t>(query.begin),
                             set.grades.begin() + static_cast<std::ptrdiff_t>(query.end));
  grades.insert(grades.end(), query.unlisted.begin(), query.unlisted.end());
  return grades;
}

TrainingSet select_queries(const TrainingSet& set, std::span<const std::size_t> queries) {
  TrainingSet out;
  out.feedback = set.feedback;
  std::vector<std::uint32_t> rows;
  for (const std::size_t number : queries) {
    require(number < set.queries.size(), "a query to select is in the set");
    QueryRange query = set.queries[number];
    const std::size_t begin = rows.size();
    add_pairs(set, query, begin, out.pairs);
    for (std::size_t row = query.begin; row < query.end; ++row) {
      rows.push_back(static_cast<std::uint32_t>(row));
      out.documents.push_back(set.documents[row]);
      out.grades.push_back(set.grades[row]);
      out.in_feedback.push_back(set.in_feedback[row]);
    }
    query.begin = begin;
    query.end = rows.size();
    out.queries.push_back(std::move(query));
  }
  out.matrix = select_rows(set.matrix, rows);
  return out;
}

std::vector<std::pair<std::string, std::string>> fingerprint(const TrainingSet& set,
                                                             Communicator* communicator) {
  Digest features;
  for (const Feature& feature : set.matrix.features()) {
    features.add(std::string_view(feature.name));
    features.add(static_cast<std::uint64_t>(feature.kind == FeatureKind::rank ? 1 : 2));
    features.add(static_cast<std::uint64_t>(feature.depth));
  }
  std::vector<std::int64_t> sums(kPartCount, 0);
  std::size_t next_pair = 0;
  for (const QueryRange& query : set.queries) add_query_bytes(set, query, next_pair, sums);
  for (std::size_t feature = 0; feature < set.matrix.feature_count(); ++feature)
    add_value_bytes(set, feature, sums[kValues]);
  sum_over_processes(communicator, sums);
  Digest feedback;
  feedback.add(static_cast<std::uint64_t>(set.feedback.is_bipartite ? 1 : 0));
  feedback.add(set.feedback.relevance_level);
  feedback.add(static_cast<std::uint64_t>(set.feedback.query_weights));
  feedback.add(static_cast<std::uint64_t>(set.feedback.grade_weights));
  feedback.add(static_cast<std::uint64_t>(sums[kPairs]));
  return {{"features", text_of(features.state())},
          {"queries", text_of(static_cast<std::uint64_t>(sums[kQueries]))},
          {"documents", text_of(static_cast<std::uint64_t>(sums[kDocuments]))},
          {"grades", text_of(static_cast<std::uint64_t>(sums[kGrades]))},
          {"values", text_of(static_cast<std::uint64_t>(sums[kValues]))},
          {"feedback", text_of(feedback.state())}};
}

}  // namespace metafuse::fusion
