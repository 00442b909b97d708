#include "fusion/data/feature_matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/contract.h"

namespace metafuse::fusion {

std::size_t count_lists(const std::vector<Feature>& features) {
  return static_cast<std::size_t>(std::ranges::count(features, FeatureKind::rank, &Feature::kind));
}

void FeatureMatrix::expect(std::size_t feature) const {
  if (file_ == nullptr || feature >= columns_.size()) return;
  ColumnFile::expect(columns_[feature].bytes);
  ColumnFile::expect(columns_[feature].words);
}

void FeatureMatrix::let_go(std::size_t feature) const {
  // Bytes stay: training rounds may still read them.
  if (file_ != nullptr) ColumnFile::let_go(columns_[feature].words);
}

CodedColumn coded_column(std::vector<double> values, std::vector<std::uint32_t> codes) {
  CodedColumn column;
  if (values.size() <= std::numeric_limits<std::uint8_t>::max())
    column.bytes = std::vector<std::uint8_t>(codes.begin(), codes.end());
  else
    column.words = std::move(codes);
  column.values = std::move(values);
  return column;
}

FeatureMatrix::FeatureMatrix(std::vector<Feature> features, std::size_t documents)
    : features_(std::move(features)),
      documents_(documents),
      cells_(documents * features_.size(), std::numeric_limits<double>::quiet_NaN()) {}

FeatureMatrix::FeatureMatrix(std::vector<Feature> features, std::size_t documents,
                             std::vector<CodedColumn> columns, std::shared_ptr<ColumnFile> file)
    : features_(std::move(features)),
      documents_(documents),
      columns_(std::move(columns)),
      file_(std::move(file)) {
  require(columns_.size() == features_.size(), "a column per feature");
}

bool FeatureMatrix::is_unranked(std::size_t document, std::size_t feature) const {
  if (!columns_.empty()) return columns_[feature].code(document) == 0;
  return std::isnan(cells_[document * features_.size() + feature]);
}

double FeatureMatrix::value(std::size_t document, std::size_t feature) const {
  if (!columns_.empty()) {
    const CodedColumn& column = columns_[feature];
    const std::uint32_t code = column.code(document);
    require(code > 0, "value() of an unranked cell");
    return column.values[code - 1];
  }
  const double cell = cells_[document * features_.size() + feature];
  require(!std::isnan(cell), "value() of an unranked cell");
  return cell;
}

void FeatureMatrix::set(std::size_t document, std::size_t feature, double value) {
  require(std::isfinite(value), "a feature value must be finite");
  require(columns_.empty(), "set() on a matrix of the lean form");
  cells_[document * features_.size() + feature] = value;
}

void FeatureMatrix::clear(std::size_t document, std::size_t feature) {
  require(columns_.empty(), "clear() on a matrix of the lean form");
  cells_[document * features_.size() + feature] = std::numeric_limits<double>::quiet_NaN();
}

}  // namespace metafuse::fusion
