#include "fusion/data/training_subset.h"

#include <limits>
#include <utility>
#include <vector>

#include "core/contract.h"

namespace metafuse::fusion {
namespace {

constexpr std::uint32_t kDropped = std::numeric_limits<std::uint32_t>::max();

/// Keeps some rows of a coded column, and of its dictionary the values that they have.
CodedColumn select_rows(const CodedColumn& column, const std::vector<std::uint32_t>& rows) {
  std::vector<std::uint32_t> translated(column.values.size() + 1, 0);
  for (const std::uint32_t row : rows) translated[column.code(row)] = 1;
  translated[0] = 0;
  CodedColumn out;
  for (std::size_t code = 1; code < translated.size(); ++code) {
    if (translated[code] == 0) continue;
    out.values.push_back(column.values[code - 1]);
    translated[code] = static_cast<std::uint32_t>(out.values.size());
  }
  const bool fits_bytes = out.values.size() <= std::numeric_limits<std::uint8_t>::max();
  for (const std::uint32_t row : rows) {
    const std::uint32_t code = translated[column.code(row)];
    if (fits_bytes)
      out.bytes.push_back(static_cast<std::uint8_t>(code));
    else
      out.words.push_back(code);
  }
  return out;
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

}  // namespace

TrainingSet select_queries(const TrainingSet& set, std::span<const std::size_t> queries) {
  TrainingSet out;
  out.feedback = set.feedback;
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> new_row(set.grades.size(), kDropped);
  for (const std::size_t number : queries) {
    require(number < set.queries.size(), "a query to select is in the set");
    QueryRange query = set.queries[number];
    const std::size_t begin = rows.size();
    for (std::size_t row = query.begin; row < query.end; ++row) {
      new_row[row] = static_cast<std::uint32_t>(rows.size());
      rows.push_back(static_cast<std::uint32_t>(row));
      out.documents.push_back(set.documents[row]);
      out.grades.push_back(set.grades[row]);
      out.in_feedback.push_back(set.in_feedback[row]);
    }
    query.begin = begin;
    query.end = rows.size();
    out.queries.push_back(std::move(query));
  }
  for (const WeightedPair& pair : set.pairs)
    if (new_row[pair.below] != kDropped)
      out.pairs.push_back({new_row[pair.below], new_row[pair.above], pair.weight});
  out.matrix = select_rows(set.matrix, rows);
  return out;
}

}  // namespace metafuse::fusion
