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
  value,  ///< any real number, higher preferred or not
};

/// One ranking feature: a search template's list, a run, or a column of a LETOR file.
struct Feature {
  std::string name;
  FeatureKind kind = FeatureKind::value;
  int depth = 0;  ///< of a rank feature: how far down the list counts, 0 for all of it

  friend bool operator==(const Feature&, const Feature&) = default;
};

/// How many of the features are lists of ranks.
std::size_t count_lists(const std::vector<Feature>& features);

/// One feature of many documents as codes into the dictionary of its distinct values: code 0 is unranked,
/// code c stands for values[c - 1].
struct CodedColumn {
  FrozenArray<double> values;        ///< distinct, finite, ascending
  FrozenArray<std::uint8_t> bytes;   ///< codes in document order, while there are at most 255 values
  FrozenArray<std::uint32_t> words;  ///< codes in document order, when there are more

  std::uint32_t code(std::size_t document) const { return bytes.empty() ? words[document] : bytes[document]; }
};

/// The column of these codes into the values, in bytes where there are at most 255 values.
CodedColumn coded_column(std::vector<double> values, std::vector<std::uint32_t> codes);

/// Documents x ranking features with an explicit "unranked" (the paper's bottom). The one form of features
/// that training, scoring and serving share.
class FeatureMatrix {
 public:
  FeatureMatrix() = default;
  /// Every cell starts unranked.
  FeatureMatrix(std::vector<Feature> features, std::size_t documents);
  /// The lean form of large matrices, which set() may not change. Requires a column per feature, each of
  /// `documents` codes.
  /// in:     file - that holds the columns, and takes what learners make of them; null: they are in memory
  FeatureMatrix(std::vector<Feature> features, std::size_t documents, std::vector<CodedColumn> columns,
                std::shared_ptr<ColumnFile> file = nullptr);

  const std::vector<Feature>& features() const { return features_; }
  std::size_t feature_count() const { return features_.size(); }
  std::size_t document_count() const { return documents_; }

  bool is_unranked(std::size_t document, std::size_t feature) const;
  /// Requires a ranked cell.
  double value(std::size_t document, std::size_t feature) const;
  /// The feature's codes, or nullptr when the matrix is not of the lean form.
  const CodedColumn* column(std::size_t feature) const {
    return columns_.empty() ? nullptr : &columns_[feature];
  }
  /// A pass comes to a column next, or to the end behind the last one; where columns lie in a file it is read
  /// ahead. Nothing for a matrix in memory.
  void expect(std::size_t feature) const;
  /// A pass is through with a column, which nobody needs soon.
  void let_go(std::size_t feature) const;
  /// The file that holds the columns, or nullptr when they are in memory.
  ColumnFile* file() const { return file_.get(); }
  /// Requires a finite value, and a matrix that is not of the lean form.
  void set(std::size_t document, std::size_t feature, double value);
  /// Makes a cell unranked. Requires a matrix that is not of the lean form.
  void clear(std::size_t document, std::size_t feature);

 private:
  std::vector<Feature> features_;
  std::size_t documents_ = 0;
  std::vector<double> cells_;         // row-major; a quiet NaN is "unranked" and never leaves this class
  std::vector<CodedColumn> columns_;  // instead of cells_ in the lean form
  std::shared_ptr<ColumnFile> file_;
};

}  // namespace metafuse::fusion
