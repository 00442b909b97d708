#include "fusion/data/thresholds.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "core/contract.h"

namespace metafuse::fusion {
namespace {

constexpr std::size_t kMostByteThresholds = 255;

/// A column's distinct values, ascending, with how often each occurs.
struct Census {
  std::vector<double> values;
  std::vector<std::size_t> counts;
};

Census census_of_codes(const CodedColumn& column, std::size_t documents,
                       std::span<const std::uint8_t> is_counted) {
  std::vector<std::size_t> counts(column.values.size() + 1, 0);
  for (std::size_t i = 0; i < documents; ++i)
    if (is_counted.empty() || is_counted[i] != 0) ++counts[column.code(i)];
  Census census;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    if (counts[i + 1] == 0) continue;
    census.values.push_back(column.values[i]);
    census.counts.push_back(counts[i + 1]);
  }
  return census;
}

Census census_of_cells(const FeatureMatrix& matrix, std::size_t feature,
                       std::span<const std::uint8_t> is_counted) {
  std::vector<double> cells;
  for (std::size_t i = 0; i < matrix.document_count(); ++i)
    if ((is_counted.empty() || is_counted[i] != 0) && !matrix.is_unranked(i, feature))
      cells.push_back(matrix.value(i, feature));
  std::sort(cells.begin(), cells.end());
  Census census;
  for (const double cell : cells) {
    if (census.values.empty() || census.values.back() != cell) {
      census.values.push_back(cell);
      census.counts.push_back(0);
    }
    ++census.counts.back();
  }
  return census;
}

/// The census of all ranks' documents together.
Census census_of_processes(Communicator& communicator, const Census& own) {
  std::vector<double> flat;
  for (std::size_t i = 0; i < own.values.size(); ++i) {
    flat.push_back(own.values[i]);
    flat.push_back(static_cast<double>(own.counts[i]));
  }
  std::map<double, std::size_t> merged;
  const std::vector<double> all = numbers_of_processes(&communicator, std::move(flat));
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) merged[all[i]] += static_cast<std::size_t>(all[i + 1]);
  Census census;
  for (const auto& [value, count] : merged) {
    census.values.push_back(value);
    census.counts.push_back(count);
  }
  return census;
}

}  // namespace

std::uint32_t Thresholds::code(double value) const {
  return static_cast<std::uint32_t>(std::lower_bound(values.begin(), values.end(), value) - values.begin());
}

Thresholds choose_thresholds(std::span<const double> values, std::span<const std::size_t> counts,
                             const ThresholdOptions& options) {
  require(options.max_thresholds >= 1, "at least one threshold");
  Thresholds result;
  result.distinct = values.size();
  if (values.empty()) return result;
  result.lowest = values.front();
  result.highest = values.back();
  result.values.push_back(-std::numeric_limits<double>::infinity());
  result.fires_from.push_back(values.front());
  if (values.size() <= options.max_thresholds) {
    result.values.insert(result.values.end(), values.begin(), values.end() - 1);
    result.fires_from.assign(values.begin(), values.end());
    return result;
  }
  result.is_reduced = true;
  std::size_t bins = options.max_thresholds;  // still to be made
  std::size_t left =
      std::accumulate(counts.begin(), counts.end(), std::size_t{0});  // documents from this bin on
  std::size_t bin = 0;                                                // documents in this bin
  for (std::size_t i = 0; i + 1 < values.size() && bins > 1; ++i) {
    bin += counts[i];
    // The bin holds its even share of what is left, or every value that is left can have a bin of its own.
    if (bin * bins < left && values.size() - (i + 1) >= bins) continue;
    result.values.push_back(values[i]);
    result.fires_from.push_back(values[i + 1]);
    left -= bin;
    bin = 0;
    --bins;
  }
  return result;
}

CodedFeatures::CodedFeatures(const FeatureMatrix& matrix, const ThresholdOptions& options,
                             std::span<const std::uint8_t> is_counted, Communicator* communicator)
    : documents_(matrix.document_count()) {
  thresholds_.reserve(matrix.feature_count());
  columns_.resize(matrix.feature_count());
  for (std::size_t feature = 0; feature < matrix.feature_count(); ++feature) {
    const CodedColumn* coded = matrix.column(feature);
    Census census = coded != nullptr ? census_of_codes(*coded, documents_, is_counted)
                                     : census_of_cells(matrix, feature, is_counted);
    if (communicator != nullptr) census = census_of_processes(*communicator, census);
    thresholds_.push_back(choose_thresholds(census.values, census.counts, options));
    const Thresholds& thresholds = thresholds_.back();
    Column& column = columns_[feature];
    const bool is_byte = thresholds.size() <= kMostByteThresholds;
    const bool is_same = coded != nullptr && !thresholds.is_reduced && census.values == coded->values;
    if (is_same && is_byte == !coded->bytes.empty() && documents_ > 0) {
      if (is_byte)
        column.bytes = coded->bytes.data();
      else
        column.words = coded->words.data();
      continue;
    }
    std::vector<std::uint32_t> translated{0};
    if (coded != nullptr)
      for (const double value : coded->values) translated.push_back(thresholds.code(value));
    const auto code_of = [&](std::size_t i) -> std::uint32_t {
      if (coded != nullptr) return translated[coded->code(i)];
      return matrix.is_unranked(i, feature) ? 0 : thresholds.code(matrix.value(i, feature));
    };
    if (is_byte) {
      column.own_bytes.resize(documents_);
      for (std::size_t i = 0; i < documents_; ++i)
        column.own_bytes[i] = static_cast<std::uint8_t>(code_of(i));
      column.bytes = column.own_bytes.data();
    } else {
      column.own_words.resize(documents_);
      for (std::size_t i = 0; i < documents_; ++i) column.own_words[i] = code_of(i);
      column.words = column.own_words.data();
    }
  }
}

}  // namespace metafuse::fusion
