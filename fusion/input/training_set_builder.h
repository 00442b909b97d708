#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

/// Rows by query id, then by document, whatever order they were read in.
struct CanonicalOrder {
  std::vector<std::uint32_t> rows;  ///< counted over all parts
  std::vector<RowSegment> segments;
  std::vector<QueryRange> queries;
  std::optional<QueryDocument> twice;  ///< one that has two rows, with an id: the rest is of no use then
};

/// in:     parts - counted on from one to the next by `first`; columns - of each part every feature
/// out:    documents without id by their features, then grade
/// cost:   O(blocks log blocks + documents), a comparison of whole rows only where ids do not decide
CanonicalOrder canonical_order(std::span<const RowPart> parts,
                               const std::vector<std::vector<RawColumn>>& columns, bool is_absent_zero);

/// One feature of a document. A NaN value says "unranked" where an absent cell would mean 0.
struct Cell {
  std::uint32_t feature = 0;
  double value = 0.0;
};

/// A document's rank features: f_i = -rank, and no cell where a list did not return it.
///
/// in:  ranks - one per list, 0 for unranked
/// out: cells - what they held is gone
void set_rank_cells(std::span<const std::uint32_t> ranks, std::vector<Cell>& cells);

/// One judged document as a reader delivers it.
struct InstanceRow {
  std::string_view query;
  std::string_view document;  ///< may be empty
  double grade = 0.0;
  bool is_in_feedback = true;
  std::span<const Cell> cells;  ///< each feature at most once, values finite or NaN
};

/// Collects judged documents in any order and makes the canonical training set out of them. Values are kept
/// as codes into a dictionary of each feature's distinct values from the first row on, one byte while a
/// feature has at most 255.
class TrainingSetBuilder {
 public:
  /// in: budget - of memory, which the builders of one input share; null: everything stays in memory
  explicit TrainingSetBuilder(std::shared_ptr<MemoryBudget> budget = nullptr);
  ~TrainingSetBuilder();
  TrainingSetBuilder(TrainingSetBuilder&&) noexcept;
  TrainingSetBuilder& operator=(TrainingSetBuilder&&) noexcept;

  /// Rows may be added before all features are known.
  void add(const InstanceRow& row);
  /// Moves columns to the budget's file when they have become large: to be called after add() where there is
  /// a budget.
  /// errors: those of the budget and of its file
  Result<void> keep_within_budget();
  /// Takes over another builder's rows, as if they had been added behind these, and leaves it empty.
  void append(TrainingSetBuilder&& other);

  /// in:     features - one each, in order; cells of features beyond are refused by require()
  ///         is_absent_zero - a cell that a row did not name is 0 (LETOR), else unranked; threads - that
  ///         finish columns
  /// out:    queries ascending by id, documents by id then by features; queries without a crucial pair stay
  ///         in, learners leave them out
  /// errors: bad_data when a document stands twice in a query (documents without id excepted); those of the
  ///         budget's files
  Result<TrainingSet> finish(std::vector<Feature> features, const FeedbackOptions& feedback,
                             bool is_absent_zero = false, unsigned threads = 1);

  /// The document that finish() refused because it stands twice.
  const std::optional<QueryDocument>& twice() const;

 private:
  struct State;

  /// Tells the budget of new rows, and begins a part when the columns of this one are large.
  Result<void> count_rows();
  Result<void> begin_part();

  std::unique_ptr<State> state_;
};

}  // namespace metafuse::fusion
