#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "fusion/data/communicator.h"
#include "fusion/data/feature_matrix.h"

namespace metafuse::fusion {

/// Candidate thresholds that a user gives, by feature name: theta of a value feature, k of "rank <= k" of a
/// rank feature.
using GivenThresholds = std::map<std::string, std::vector<double>, std::less<>>;

/// Reads `feature threshold threshold ...` lines; '#' begins a comment.
/// errors: those of the file; bad_data with file and line: no number, a feature that stands twice, no line
Result<GivenThresholds> read_given_thresholds(const std::string& path);

/// Whether the features can have these thresholds.
/// in:     path - that errors name
/// errors: bad_data: a feature that does not exist, a rank that is no whole number above 0
Result<void> check_given_thresholds(const GivenThresholds& given, std::span<const Feature> features,
                                    const std::string& path);

/// Which candidate thresholds a feature may have.
struct ThresholdOptions {
  static constexpr std::size_t kAll = static_cast<std::size_t>(-1);

  std::size_t max_thresholds = 255;  ///< minus infinity included; kAll keeps every distinct value
  /// Instead of distinct values, for the features that it names; minus infinity is always added.
  std::shared_ptr<const GivenThresholds> given = nullptr;
};

/// The candidate thresholds theta of one feature (Freund et al. 2003, sec. 4): h = 1 iff f > theta.
struct Thresholds {
  /// theta ascending. values[0] is minus infinity, which any ranked document exceeds; the highest value of
  /// the training documents is not among them, since nothing exceeds it.
  std::vector<double> values;
  /// For each threshold the lowest training value above it, from which on it fires.
  std::vector<double> fires_from;
  double lowest = 0.0;       ///< lowest value on the training documents
  double highest = 0.0;      ///< highest value on the training documents
  std::size_t distinct = 0;  ///< distinct values on the training documents; 0: unranked everywhere
  bool is_reduced = false;   ///< distinct values were merged to stay within max_thresholds

  /// 0 when unranked, else 1 + the place of the highest threshold below the value: threshold j fires iff
  /// code > j.
  std::uint32_t code(double value) const;
  std::size_t size() const { return values.size(); }
};

/// Which thresholds a feature is reduced to: from the lowest value on, a bin is closed behind the value by
/// which it holds its even share of the documents that are left over the bins that are left, or when every
/// value that is left can have a bin of its own. All thresholds when they fit. Deterministic, and unchanged
/// by any monotone map of the feature.
///
/// in:     values - distinct, ascending; counts - documents that have each
Thresholds choose_thresholds(std::span<const double> values, std::span<const std::size_t> counts,
                             const ThresholdOptions& options);

/// Training documents as codes, one byte where a feature has at most 255 thresholds. Columns that the matrix
/// already holds as such codes are shared with it; where its columns lie in a file, so do the others.
class CodedFeatures {
 public:
  /// in:     is_counted - a document: 0 where its values are no candidates (of a query without feedback);
  ///         empty counts all; communicator - of the processes that hold the other documents, or null
  /// errors: those of the matrix's file of columns; none without one
  static Result<CodedFeatures> make(const FeatureMatrix& matrix, const ThresholdOptions& options,
                                    std::span<const std::uint8_t> is_counted = {},
                                    Communicator* communicator = nullptr);
  /// The same of columns in memory. Requires a matrix without a file.
  CodedFeatures(const FeatureMatrix& matrix, const ThresholdOptions& options,
                std::span<const std::uint8_t> is_counted = {}, Communicator* communicator = nullptr);
  CodedFeatures(const CodedFeatures&) = delete;
  CodedFeatures& operator=(const CodedFeatures&) = delete;
  CodedFeatures(CodedFeatures&&) noexcept = default;
  CodedFeatures& operator=(CodedFeatures&&) noexcept = default;

  std::size_t document_count() const { return documents_; }
  std::size_t feature_count() const { return thresholds_.size(); }
  const Thresholds& thresholds(std::size_t feature) const { return thresholds_[feature]; }

  /// 0 when unranked, else as Thresholds::code.
  std::uint32_t code(std::size_t document, std::size_t feature) const {
    const Column& column = columns_[feature];
    return column.bytes.empty() ? column.words[document] : column.bytes[document];
  }
  bool is_byte(std::size_t feature) const { return !columns_[feature].bytes.empty(); }
  /// The codes lie in a file: nothing as large as they should be kept in memory.
  bool is_in_file() const { return is_in_file_; }
  /// Codes that a pass comes to soon are brought into memory, where they lie in a file.
  void expect(std::size_t feature) const {
    if (is_in_file_) ColumnFile::expect(columns_[feature].bytes);
  }
  /// A feature's codes in document order. Requires is_byte().
  const std::uint8_t* bytes(std::size_t feature) const { return columns_[feature].bytes.data(); }
  /// A feature's codes in document order. Requires !is_byte().
  const std::uint32_t* words(std::size_t feature) const { return columns_[feature].words.data(); }

 private:
  struct Column {  // codes in one of the two
    FrozenArray<std::uint8_t> bytes;
    FrozenArray<std::uint32_t> words;
  };

  CodedFeatures() = default;
  static Result<Column> column_of(const FeatureMatrix& matrix, std::size_t feature,
                                  const Thresholds& thresholds, bool is_every_value);

  std::size_t documents_ = 0;
  bool is_in_file_ = false;
  std::vector<Thresholds> thresholds_;
  std::vector<Column> columns_;
};

/// Threshold `level` as a WeakRanking has it: of a rank feature "rank <= k" with k the deepest training rank
/// that fires, so that ranks that training never saw fall on the side of the deeper ones.
inline double step_threshold(const Thresholds& thresholds, std::size_t level, FeatureKind kind) {
  const double theta = thresholds.values[level];
  return kind == FeatureKind::rank && std::isfinite(theta) ? thresholds.fires_from[level] - 1.0 : theta;
}

}  // namespace metafuse::fusion
