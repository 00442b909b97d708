#include "fusion/data/thresholds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/contract.h"
#include "core/number.h"
#include "evaluation/runs/lines.h"

namespace metafuse::fusion {
namespace {

constexpr std::size_t kMostByteThresholds = 255;

/// The distinct values of a column, ascending, and how often each occurs.
struct Census {
  std::vector<double> values;
  std::vector<std::size_t> counts;

  /// Requires values in ascending order.
  void add(double value, std::size_t count) {
    if (values.empty() || values.back() != value) {
      values.push_back(value);
      counts.push_back(0);
    }
    counts.back() += count;
  }
};

Census census_of_codes(const CodedColumn& column, std::size_t documents,
                       std::span<const std::uint8_t> is_counted) {
  std::vector<std::size_t> counts(column.values.size() + 1, 0);
  for (std::size_t i = 0; i < documents; ++i)
    if (is_counted.empty() || is_counted[i] != 0) ++counts[column.code(i)];
  Census census;
  for (std::size_t i = 0; i < column.values.size(); ++i)
    if (counts[i + 1] > 0) census.add(column.values[i], counts[i + 1]);
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
  for (const double cell : cells) census.add(cell, 1);
  return census;
}

/// The census over the documents of all processes.
Census census_of_processes(Communicator& communicator, const Census& own) {
  std::vector<double> flat;
  for (std::size_t i = 0; i < own.values.size(); ++i) {
    flat.push_back(own.values[i]);
    flat.push_back(static_cast<double>(own.counts[i]));
  }
  std::vector<double> all = numbers_of_processes(&communicator, std::move(flat));
  std::vector<std::pair<double, double>> entries;
  entries.reserve(all.size() / 2);
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) entries.emplace_back(all[i], all[i + 1]);
  all = {};
  std::sort(entries.begin(), entries.end());
  Census census;
  for (const auto& [value, count] : entries) census.add(value, static_cast<std::size_t>(count));
  return census;
}

/// The range of ascending values, and the threshold that separates ranked from unranked documents.
Thresholds first_threshold(std::span<const double> values) {
  Thresholds result;
  result.distinct = values.size();
  if (values.empty()) return result;
  result.lowest = values.front();
  result.highest = values.back();
  result.values.push_back(-std::numeric_limits<double>::infinity());
  result.fires_from.push_back(values.front());
  return result;
}

/// Keeps the given thresholds that separate training documents, one per distinct split.
Thresholds given_thresholds(std::span<const double> values, std::vector<double> given) {
  Thresholds result = first_threshold(values);
  if (values.empty()) return result;
  std::sort(given.begin(), given.end());
  for (const double theta : given) {
    const auto above = std::upper_bound(values.begin(), values.end(), theta);
    if (above == values.end() || *above == result.fires_from.back()) continue;
    result.values.push_back(theta);
    result.fires_from.push_back(*above);
  }
  return result;
}

Thresholds thresholds_of(const Feature& feature, const Census& census, const ThresholdOptions& options) {
  if (options.given != nullptr)
    if (const auto at = options.given->find(feature.name); at != options.given->end()) {
      std::vector<double> thetas = at->second;
      if (feature.kind == FeatureKind::rank)
        for (double& theta : thetas) theta = -(theta + 1.0);  // rank <= k means -rank > -(k + 1)
      return given_thresholds(census.values, std::move(thetas));
    }
  return choose_thresholds(census.values, census.counts, options);
}

/// Makes the codes of a column, stored in the matrix's file if it has one.
template <class Code, class CodeOf>
Result<FrozenArray<Code>> frozen_codes(const FeatureMatrix& matrix, const CodeOf& code_of) {
  std::vector<Code> codes(matrix.document_count());
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<Code>(code_of(i));
  if (matrix.file() != nullptr) return matrix.file()->freeze(std::span<const Code>(codes));
  return FrozenArray<Code>(std::move(codes));
}

}  // namespace

std::uint32_t Thresholds::code(double value) const {
  return static_cast<std::uint32_t>(std::lower_bound(values.begin(), values.end(), value) - values.begin());
}

Thresholds choose_thresholds(std::span<const double> values, std::span<const std::size_t> counts,
                             const ThresholdOptions& options) {
  require(options.max_thresholds >= 1, "at least one threshold");
  Thresholds result = first_threshold(values);
  if (values.empty()) return result;
  if (values.size() <= options.max_thresholds) {
    result.values.insert(result.values.end(), values.begin(), values.end() - 1);
    result.fires_from.assign(values.begin(), values.end());
    return result;
  }
  result.is_reduced = true;
  std::size_t bins = options.max_thresholds;  // bins still to be made
  std::size_t left =
      // Documents from this bin on.
      std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  std::size_t bin = 0;  // documents in this bin
  for (std::size_t i = 0; i + 1 < values.size() && bins > 1; ++i) {
    bin += counts[i];
    // Go on unless the bin holds its share of the remaining documents, or each remaining value can have its
    // own bin.
    if (bin * bins < left && values.size() - (i + 1) >= bins) continue;
    result.values.push_back(values[i]);
    result.fires_from.push_back(values[i + 1]);
    left -= bin;
    bin = 0;
    --bins;
  }
  return result;
}

Result<GivenThresholds> read_given_thresholds(const std::string& path) {
  GivenThresholds given;
  const auto take = [&](std::span<const std::string_view> words, std::size_t) -> Result<void> {
    std::vector<double> thetas(words.size() - 1);
    for (std::size_t i = 1; i < words.size(); ++i)
      if (!to_double(words[i], thetas[i - 1]) || !std::isfinite(thetas[i - 1]))
        return fail(Code::bad_data, "the threshold \"" + std::string(words[i]) +
                                        "\" is not a number; a line is: feature threshold threshold ...");
    if (!given.emplace(std::string(words[0]), std::move(thetas)).second)
      return fail(Code::bad_data, "the feature \"" + std::string(words[0]) +
                                      "\" occurs twice; give its thresholds in one line");
    return {};
  };
  TRY_VOID(evaluation::for_each_record(path, take));
  if (given.empty())
    return fail(Code::bad_data, path + ": contains no lines; a line is: feature threshold threshold ...");
  return given;
}

Result<void> check_given_thresholds(const GivenThresholds& given, std::span<const Feature> features,
                                    const std::string& path) {
  for (const auto& [name, thetas] : given) {
    const auto feature = std::ranges::find(features, name, &Feature::name);
    if (feature == features.end())
      return fail(Code::bad_data, path + ": the input has no feature \"" + name + "\"; remove the line");
    if (feature->kind != FeatureKind::rank) continue;
    for (const double rank : thetas)
      if (rank < 1.0 || rank != std::floor(rank))
        return fail(
            Code::bad_data,
            path + ": \"" + name + "\" is a list; its thresholds must be ranks: whole numbers of at least 1");
  }
  return {};
}

/// in: is_every_value - the thresholds are exactly the values of the matrix's column, the highest excepted
Result<CodedFeatures::Column> CodedFeatures::column_of(const FeatureMatrix& matrix, std::size_t feature,
                                                       const Thresholds& thresholds, bool is_every_value) {
  const CodedColumn* coded = matrix.column(feature);
  const bool is_byte = thresholds.size() <= kMostByteThresholds;
  if (is_every_value && is_byte == !coded->bytes.empty() && matrix.document_count() > 0)
    return Column{coded->bytes, coded->words};
  std::vector<std::uint32_t> translated{0};
  if (coded != nullptr)
    for (const double value : coded->values) translated.push_back(thresholds.code(value));
  const auto code_of = [&](std::size_t i) -> std::uint32_t {
    if (coded != nullptr) return translated[coded->code(i)];
    return matrix.is_unranked(i, feature) ? 0 : thresholds.code(matrix.value(i, feature));
  };
  Column column;
  if (is_byte) {
    TRY(column.bytes, frozen_codes<std::uint8_t>(matrix, code_of));
  } else {
    TRY(column.words, frozen_codes<std::uint32_t>(matrix, code_of));
  }
  return column;
}

Result<CodedFeatures> CodedFeatures::make(const FeatureMatrix& matrix, const ThresholdOptions& options,
                                          std::span<const std::uint8_t> is_counted,
                                          Communicator* communicator) {
  CodedFeatures out;
  out.documents_ = matrix.document_count();
  out.is_in_file_ = matrix.file() != nullptr;
  out.thresholds_.reserve(matrix.feature_count());
  for (std::size_t feature = 0; feature < matrix.feature_count(); ++feature) {
    const CodedColumn* coded = matrix.column(feature);
    matrix.expect(feature + 1);
    Census census = coded != nullptr ? census_of_codes(*coded, out.documents_, is_counted)
                                     : census_of_cells(matrix, feature, is_counted);
    if (communicator != nullptr) census = census_of_processes(*communicator, census);
    out.thresholds_.push_back(thresholds_of(matrix.features()[feature], census, options));
    const Thresholds& thresholds = out.thresholds_.back();
    const bool is_every_value = coded != nullptr && !thresholds.is_reduced &&
                                std::ranges::equal(census.values, coded->values) &&
                                thresholds.size() == census.values.size();
    census = {};
    TRY(auto column, column_of(matrix, feature, thresholds, is_every_value));
    if (!is_every_value) matrix.let_go(feature);
    out.columns_.push_back(std::move(column));
  }
  return out;
}

CodedFeatures::CodedFeatures(const FeatureMatrix& matrix, const ThresholdOptions& options,
                             std::span<const std::uint8_t> is_counted, Communicator* communicator) {
  require(matrix.file() == nullptr, "columns in memory");
  *this = std::move(*make(matrix, options, is_counted, communicator));
}

}  // namespace metafuse::fusion
