#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "fusion/data/training_set.h"
#include "fusion/input/growing_column.h"
#include "fusion/input/memory_budget.h"

namespace metafuse::fusion {

/// A document of a query.
struct QueryDocument {
  std::string query;
  std::string document;
};

/// One feature of a document. The value NaN means "unranked" in inputs where an absent cell means 0.
struct Cell {
  std::uint32_t feature = 0;
  double value = 0.0;
};

/// Makes a document's rank features: f_i = -rank, and no cell for a list that did not return it.
///
/// in:  ranks - one per list, 0 for unranked
/// out: cells - previous content is overwritten
void set_rank_cells(std::span<const std::uint32_t> ranks, std::vector<Cell>& cells);

/// One judged document as a reader delivers it.
struct InstanceRow {
  std::string_view query;
  std::string_view document;  ///< may be empty
  double grade = 0.0;
  bool is_in_feedback = true;
  std::span<const Cell> cells;  ///< each feature at most once, values finite or NaN
};

/// Collects judged documents in any order and makes the canonical training set from them. From the first row
/// on, values are kept as codes into a dictionary of each feature's distinct values. A code takes one byte
/// while a feature has at most 255 values.
class TrainingSetBuilder {
 public:
  /// in: budget - memory budget shared by the builders of one input; null: everything stays in memory
  explicit TrainingSetBuilder(std::shared_ptr<MemoryBudget> budget = nullptr) : budget_(std::move(budget)) {}

  /// Adds a row. Not all features need to be known yet.
  void add(const InstanceRow& row);
  /// Moves columns to the budget's file once they are large. To be called after each add() if there is
  /// a budget.
  /// errors: those of the budget and of its file
  Result<void> keep_within_budget();
  /// Takes over the rows of another builder, as if they had been added after these, and leaves it empty.
  void append(TrainingSetBuilder&& other);

  /// in:     features - in order; require() fails for cells of any other feature; is_absent_zero - a cell
  ///         that a row did not name is 0 (LETOR), else unranked; threads - how many threads finish columns
  /// out:    queries ascending by id, documents by id, then by features; queries without a crucial pair are
  ///         kept (learners leave them out)
  /// errors: bad_data when a document occurs twice in a query (except documents without id); those of the
  ///         budget's files
  Result<TrainingSet> finish(std::vector<Feature> features, const FeedbackOptions& feedback,
                             bool is_absent_zero = false, unsigned threads = 1);

  /// The document that occurs twice, if finish() failed because of one.
  const std::optional<QueryDocument>& twice() const { return twice_; }

 private:
  /// Reports new rows to the budget, and begins a new part if the columns of this one are large.
  Result<void> count_rows();
  Result<void> begin_part();

  std::vector<RowPart> parts_{1};
  std::shared_ptr<MemoryBudget> budget_;
  RowCounts counted_;  // what the budget knows of the last part
  std::optional<QueryDocument> twice_;
};

}  // namespace metafuse::fusion
