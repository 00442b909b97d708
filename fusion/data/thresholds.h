#pragma once

// Candidate thresholds of features, and training documents as codes. A code tells which thresholds a document
// exceeds, so that learners compare small integers instead of values.

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

/// Candidate thresholds given by the user, by feature name: theta for a value feature, k of "rank <= k" for a
/// rank feature.
using GivenThresholds = std::map<std::string, std::vector<double>, std::less<>>;

/// Reads lines of the form `feature threshold threshold ...`; a line that begins with '#' is a comment.
/// errors: those of the file; bad_data with file and line: not a number, a feature that occurs twice, no line
///         at all
Result<GivenThresholds> read_given_thresholds(const std::string& path);

/// Checks that given thresholds fit the features.
/// in:     path - the file that error messages name
/// errors: bad_data: an unknown feature, or a rank that is not a whole number above 0
Result<void> check_given_thresholds(const GivenThresholds& given, std::span<const Feature> features,
                                    const std::string& path);

/// How the candidate thresholds of a feature are chosen.
struct ThresholdOptions {
  static constexpr std::size_t kAll = static_cast<std::size_t>(-1);

  std::size_t max_thresholds = 255;  ///< minus infinity included; kAll keeps all distinct values
  /// Replaces the distinct values for the features it names; minus infinity is always added.
  std::shared_ptr<const GivenThresholds> given = nullptr;
};

/// The candidate thresholds theta of one feature (Freund et al. 2003, sec. 4): h = 1 iff f > theta.
struct Thresholds {
  /// theta, ascending. values[0] is minus infinity, which every ranked document exceeds. The highest training
  /// value is left out, since nothing exceeds it.
  std::vector<double> values;
  /// For each threshold, the lowest training value above it: the threshold fires from this value on.
  std::vector<double> fires_from;
  double lowest = 0.0;       ///< lowest value on the training documents
  double highest = 0.0;      ///< highest value on the training documents
  std::size_t distinct = 0;  ///< number of distinct training values; 0: unranked everywhere
  bool is_reduced = false;   ///< whether distinct values were merged to stay within max_thresholds

  /// 0 if unranked, else 1 + the index of the highest threshold below the value. Threshold j fires iff code
  /// > j.
  std::uint32_t code(double value) const;
  std::size_t size() const { return values.size(); }
};

/// Chooses the thresholds of a feature: all of them if they fit. Otherwise distinct values are collected into
/// bins from the lowest value up. A bin is closed as soon as it holds its share of the remaining documents
/// (their number divided by the number of bins still to make), or when each remaining value can have a bin of
/// its own. Deterministic, and invariant under any strictly increasing map of the feature.
///
/// in: values - distinct, ascending; counts - how many documents have each value
Thresholds choose_thresholds(std::span<const double> values, std::span<const std::size_t> counts,
                             const ThresholdOptions& options);

/// Training documents as codes, one byte each for a feature with at most 255 thresholds. Columns that the
/// matrix already holds as such codes are shared with it. If the matrix's columns lie in a file, so do these.
class CodedFeatures {
 public:
  /// in:     is_counted - per document: 0 if its values give no candidate thresholds (its query has no
  ///         feedback); empty counts all documents; communicator - of the processes that hold the other
  ///         documents, or null
  /// errors: those of the matrix's column file; none without one
  static Result<CodedFeatures> make(const FeatureMatrix& matrix, const ThresholdOptions& options,
                                    std::span<const std::uint8_t> is_counted = {},
                                    Communicator* communicator = nullptr);
  /// The same for columns in memory. Requires a matrix without a file.
  CodedFeatures(const FeatureMatrix& matrix, const ThresholdOptions& options,
                std::span<const std::uint8_t> is_counted = {}, Communicator* communicator = nullptr);
  CodedFeatures(const CodedFeatures&) = delete;
  CodedFeatures& operator=(const CodedFeatures&) = delete;
  CodedFeatures(CodedFeatures&&) noexcept = default;
  CodedFeatures& operator=(CodedFeatures&&) noexcept = default;

  std::size_t document_count() const { return documents_; }
  std::size_t feature_count() const { return thresholds_.size(); }
  const Thresholds& thresholds(std::size_t feature) const { return thresholds_[feature]; }

  /// 0 if unranked, else as Thresholds::code.
  std::uint32_t code(std::size_t document, std::size_t feature) const {
    const Column& column = columns_[feature];
    return column.bytes.empty() ? column.words[document] : column.bytes[document];
  }
  bool is_byte(std::size_t feature) const { return !columns_[feature].bytes.empty(); }
  /// Whether the codes lie in a file. If so, callers should keep no array of similar size in memory.
  bool is_in_file() const { return is_in_file_; }
  /// Starts loading the codes of a feature that a pass reads soon, if they lie in a file.
  void expect(std::size_t feature) const {
    if (is_in_file_) ColumnFile::expect(columns_[feature].bytes);
  }
  /// A feature's codes in document order. Requires is_byte().
  const std::uint8_t* bytes(std::size_t feature) const { return columns_[feature].bytes.data(); }
  /// A feature's codes in document order. Requires !is_byte().
  const std::uint32_t* words(std::size_t feature) const { return columns_[feature].words.data(); }

 private:
  struct Column {  // exactly one of the two holds the codes
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

/// Threshold `level` in the form that a WeakRanking stores. For a rank feature this is "rank <= k" with k the
/// deepest training rank at which it fires, so that ranks never seen in training fall on the deeper side.
inline double step_threshold(const Thresholds& thresholds, std::size_t level, FeatureKind kind) {
  const double theta = thresholds.values[level];
  return kind == FeatureKind::rank && std::isfinite(theta) ? thresholds.fires_from[level] - 1.0 : theta;
}

}  // namespace metafuse::fusion
