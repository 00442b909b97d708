#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fusion/data/column_file.h"

namespace metafuse::fusion {

enum class FeatureKind {
  rank,   ///< the value is minus the rank, so that higher is better (Freund et al. 2003, sec. 2)
  value,  ///< any real number; higher is better or worse
};

/// One ranking feature: a search template's list, a run, or a column of a LETOR file.
struct Feature {
  std::string name;
  FeatureKind kind = FeatureKind::value;
  int depth = 0;  ///< of a rank feature: how many ranks count, 0 for all

  friend bool operator==(const Feature&, const Feature&) = default;
};

/// How many of the features are lists of ranks.
std::size_t count_lists(const std::vector<Feature>& features);

/// The values of one feature as codes into a dictionary of its distinct values: code 0 means unranked, code c
/// stands for values[c - 1].
struct CodedColumn {
  FrozenArray<double> values;        ///< distinct, finite, ascending
  FrozenArray<std::uint8_t> bytes;   ///< codes in document order, if there are at most 255 values
  FrozenArray<std::uint32_t> words;  ///< codes in document order, if there are more

  std::uint32_t code(std::size_t document) const { return bytes.empty() ? words[document] : bytes[document]; }
};

/// Makes a column of values and codes; codes take one byte each if there are at most 255 values.
CodedColumn coded_column(std::vector<double> values, std::vector<std::uint32_t> codes);

/// Documents x ranking features, with an explicit "unranked" cell (the paper's bottom). Training, scoring and
/// serving all use this one form.
class FeatureMatrix {
 public:
  FeatureMatrix() = default;
  /// Creates a matrix whose cells are all unranked.
  FeatureMatrix(std::vector<Feature> features, std::size_t documents);
  /// Creates a matrix in coded form, the lean form for large data, which set() cannot change. Requires one
  /// column per feature, each with `documents` codes.
  /// in: file - holds the columns and receives the arrays that learners derive from them; null: all in memory
  FeatureMatrix(std::vector<Feature> features, std::size_t documents, std::vector<CodedColumn> columns,
                std::shared_ptr<ColumnFile> file = nullptr);

  const std::vector<Feature>& features() const { return features_; }
  std::size_t feature_count() const { return features_.size(); }
  std::size_t document_count() const { return documents_; }

  bool is_unranked(std::size_t document, std::size_t feature) const;
  /// Requires a ranked cell.
  double value(std::size_t document, std::size_t feature) const;
  /// The feature's codes, or nullptr if the matrix is not in coded form.
  const CodedColumn* column(std::size_t feature) const {
    return columns_.empty() ? nullptr : &columns_[feature];
  }
  /// Announces the feature that a pass over all columns reads next, so that a column in a file is loaded
  /// ahead. `feature` may be one past the last. Does nothing for a matrix in memory.
  void expect(std::size_t feature) const;
  /// Announces that a pass has finished with a column and that nobody needs it soon.
  void let_go(std::size_t feature) const;
  /// The file that holds the columns, or nullptr when they are in memory.
  ColumnFile* file() const { return file_.get(); }
  /// Requires a finite value and a matrix that is not in coded form.
  void set(std::size_t document, std::size_t feature, double value);
  /// Makes a cell unranked. Requires a matrix that is not in coded form.
  void clear(std::size_t document, std::size_t feature);

 private:
  std::vector<Feature> features_;
  std::size_t documents_ = 0;
  std::vector<double> cells_;         // row-major; a quiet NaN means "unranked" and never leaves this class
  std::vector<CodedColumn> columns_;  // used instead of cells_ in coded form
  std::shared_ptr<ColumnFile> file_;
};

}  // namespace metafuse::fusion
