#include "fusion/data/derived_columns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "fusion/data/features.h"

namespace metafuse::fusion {
namespace {

/// Codes of a column of values, NaN where unranked.
CodedColumn coded(const std::vector<double>& values) {
  CodedColumn column;
  for (const double value : values)
    if (!std::isnan(value)) column.values.push_back(value);
  std::sort(column.values.begin(), column.values.end());
  column.values.erase(std::unique(column.values.begin(), column.values.end()), column.values.end());
  const bool fits_bytes = column.values.size() <= std::numeric_limits<std::uint8_t>::max();
  for (const double value : values) {
    const auto at =
        std::lower_bound(column.values.begin(), column.values.end(), value) - column.values.begin();
    const auto code = std::isnan(value) ? 0U : static_cast<std::uint32_t>(at + 1);
    if (fits_bytes)
      column.bytes.push_back(static_cast<std::uint8_t>(code));
    else
      column.words.push_back(code);
  }
  return column;
}

std::vector<double> values_of(const FeatureMatrix& matrix, std::size_t feature) {
  std::vector<double> values(matrix.document_count(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t row = 0; row < values.size(); ++row)
    if (!matrix.is_unranked(row, feature)) values[row] = matrix.value(row, feature);
  return values;
}

/// The instances of one query, back from their features; documents are counted only.
QueryInstances instances_of(const TrainingSet& set, const QueryRange& query) {
  QueryInstances instances;
  instances.lists = set.matrix.feature_count();
  instances.documents.resize(query.end - query.begin);
  for (std::size_t row = query.begin; row < query.end; ++row)
    for (std::size_t f = 0; f < instances.lists; ++f)
      instances.ranks.push_back(
          set.matrix.is_unranked(row, f) ? 0 : static_cast<std::uint32_t>(-set.matrix.value(row, f)));
  return instances;
}

}  // namespace

void add_derived_columns(TrainingSet& set, const std::vector<Feature>& derived) {
  if (derived.empty()) return;
  std::vector<Feature> features = set.matrix.features();
  const std::size_t lists = features.size();
  features.insert(features.end(), derived.begin(), derived.end());
  std::vector<std::vector<double>> added(derived.size(), std::vector<double>(set.matrix.document_count()));
  for (const QueryRange& query : set.queries) {
    const std::vector<double> values = derived_values(features, instances_of(set, query));
    for (std::size_t row = query.begin; row < query.end; ++row)
      for (std::size_t j = 0; j < derived.size(); ++j)
        added[j][row] = values[(row - query.begin) * derived.size() + j];
  }
  std::vector<CodedColumn> columns;
  for (std::size_t f = 0; f < lists; ++f)
    columns.push_back(set.matrix.column(f) != nullptr ? *set.matrix.column(f)
                                                      : coded(values_of(set.matrix, f)));
  for (const std::vector<double>& values : added) columns.push_back(coded(values));
  set.matrix = FeatureMatrix(std::move(features), set.grades.size(), std::move(columns));
}

}  // namespace metafuse::fusion
