#include "fusion/input/training_set_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "core/contract.h"
#include "core/parallel.h"
#include "fusion/data/fused_order.h"
#include "fusion/input/growing_column.h"

// Makes the canonical training set from rows in any order. finish() works in three steps: canonical_order()
// sorts the rows, take_rows() moves ids, grades and flags, and finish_columns() brings one feature after
// another into its final form, several at a time. Memory is scarce here, so each step frees what later steps
// do not need.
namespace metafuse::fusion {
namespace {

using RawColumns = std::vector<std::vector<RawColumn>>;  // for each part, all features

/// Rows [begin, end) of one query.
struct Block {
  std::string_view query;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Sorted by query, then in the order they were read.
std::vector<Block> sorted_blocks(std::span<const RowPart> parts) {
  std::vector<Block> blocks;
  for (const RowPart& part : parts)
    for (std::size_t i = 0; i < part.block_begins.size(); ++i) {
      const std::size_t end = i + 1 < part.block_begins.size() ? part.block_begins[i + 1] : part.size();
      blocks.push_back({part.block_queries[i], static_cast<std::uint32_t>(part.first + part.block_begins[i]),
                        static_cast<std::uint32_t>(part.first + end)});
    }
  std::ranges::sort(blocks, {}, [](const Block& block) { return std::pair(block.query, block.begin); });
  return blocks;
}

/// The index of the part that holds a row.
std::size_t part_at(std::span<const RowPart> parts, std::uint32_t row) {
  const auto behind = std::ranges::upper_bound(parts, row, {}, &RowPart::first);
  return static_cast<std::size_t>(behind - parts.begin()) - 1;
}

/// Orders the documents of one query at a time.
class DocumentOrder {
 public:
  DocumentOrder(std::span<const RowPart> parts, const RawColumns& columns, bool is_absent_zero)
      : parts_(parts), columns_(columns), is_absent_zero_(is_absent_zero) {}

  /// out: whether a document may occur twice
  bool sort(std::span<std::uint32_t> rows) {
    const std::span<const std::uint32_t> all(rows);
    const auto id = [this](std::uint32_t row) { return id_of(row); };
    const bool has_ids = std::ranges::any_of(rows, [&](std::uint32_t row) { return !id(row).empty(); });
    keys_.clear();
    if (has_ids) {
      const std::size_t prefix = common_prefix(all, id);
      for (const std::uint32_t row : rows) keys_.push_back(first_bytes(id(row).substr(prefix)));
    } else {
      for (const std::uint32_t row : rows) keys_.push_back(ordered_bits(first_value(row)));
    }
    const bool has_equals =
        sort_by_keys(keys_, rows, [this](std::uint32_t a, std::uint32_t b) { return precedes(a, b); });
    return has_ids && has_equals;
  }

  std::string_view id_of(std::uint32_t row) const {
    const RowPart& part = part_of(row);
    return part.documents[row - part.first];
  }

  const RowPart& part_of(std::uint32_t row) const { return parts_[part_at(parts_, row)]; }

 private:
  double value(std::size_t feature, std::uint32_t row) const {
    const std::size_t part = part_at(parts_, row);
    return columns_[part][feature].sort_key(row - parts_[part].first, is_absent_zero_);
  }

  double first_value(std::uint32_t row) const { return columns_[0].empty() ? 0.0 : value(0, row); }

  bool precedes(std::uint32_t a, std::uint32_t b) const {
    const int ids = id_of(a).compare(id_of(b));
    if (ids != 0) return ids < 0;
    return id_of(a).empty() && precedes_by_content(a, b);
  }

  bool precedes_by_content(std::uint32_t a, std::uint32_t b) const {
    for (std::size_t feature = 0; feature < columns_[0].size(); ++feature) {
      const double left = value(feature, a);
      const double right = value(feature, b);
      if (left != right) return left < right;
    }
    const RowPart& of_a = part_of(a);
    const RowPart& of_b = part_of(b);
    const double grades[] = {of_a.grades[a - of_a.first], of_b.grades[b - of_b.first]};
    if (grades[0] != grades[1]) return grades[0] < grades[1];
    return of_a.in_feedback[a - of_a.first] < of_b.in_feedback[b - of_b.first];
  }

  std::span<const RowPart> parts_;
  const RawColumns& columns_;  // of each part
  bool is_absent_zero_;
  std::vector<std::uint64_t> keys_;
};

/// Makes a segment of each run of consecutive rows of one part.
std::vector<RowSegment> segments_of(std::span<const RowPart> parts, const std::vector<std::uint32_t>& rows) {
  std::vector<RowSegment> segments;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!segments.empty()) {
      RowSegment& last = segments.back();
      const RowPart& part = parts[last.part];
      if (rows[i] >= part.first && rows[i] < part.end()) {
        last.end = i + 1;
        continue;
      }
    }
    const std::size_t part = part_at(parts, rows[i]);
    segments.push_back({part, parts[part].first, i, i + 1});
  }
  return segments;
}

/// Rows sorted by query id, then by document, independent of the order in which they were read.
struct CanonicalOrder {
  std::vector<std::uint32_t> rows;  ///< row numbers, counted over all parts
  std::vector<RowSegment> segments;
  std::vector<QueryRange> queries;
  std::optional<QueryDocument> twice;  ///< an id that has two rows; everything else is invalid then
};

/// Puts the rows of all parts in canonical order. Documents without ids are ordered by their features, then
/// by grade.
/// in:   parts - their rows are numbered consecutively by `first`; columns - for each part, all features
/// cost: O(blocks log blocks + documents); whole rows are compared only where ids do not decide
CanonicalOrder canonical_order(std::span<const RowPart> parts, const RawColumns& columns,
                               bool is_absent_zero) {
  CanonicalOrder order;
  order.rows.reserve(parts.back().end());
  DocumentOrder documents(parts, columns, is_absent_zero);
  const std::vector<Block> blocks = sorted_blocks(parts);
  for (std::size_t i = 0; i < blocks.size();) {
    const std::string_view query = blocks[i].query;
    const std::size_t begin = order.rows.size();
    for (; i < blocks.size() && blocks[i].query == query; ++i)
      for (std::uint32_t row = blocks[i].begin; row < blocks[i].end; ++row) order.rows.push_back(row);
    const std::span rows = std::span(order.rows).subspan(begin);
    order.queries.push_back({std::string(query), begin, order.rows.size(), 1.0});
    if (!documents.sort(rows)) continue;
    const auto twice = std::adjacent_find(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      return !documents.id_of(a).empty() && documents.id_of(a) == documents.id_of(b);
    });
    if (twice == rows.end()) continue;
    order.twice = {std::string(query), std::string(documents.id_of(*twice))};
    return order;
  }
  order.segments = segments_of(parts, order.rows);
  return order;
}

/// Moves everything except the columns into the set and frees it in the parts.
void take_rows(std::span<RowPart> parts, const CanonicalOrder& order, TrainingSet& set) {
  std::size_t characters = 0;
  for (const RowPart& part : parts) characters += part.documents.bytes();
  set.documents.reserve(order.rows.size(), characters);
  set.grades.reserve(order.rows.size());
  set.in_feedback.reserve(order.rows.size());
  for (const RowSegment& segment : order.segments) {
    const RowPart& part = parts[segment.part];
    for (std::size_t i = segment.begin; i < segment.end; ++i) {
      const std::size_t row = order.rows[i] - segment.first;
      set.documents.push_back(part.documents[row]);
      set.grades.push_back(part.grades[row]);
      set.in_feedback.push_back(part.in_feedback[row]);
    }
  }
  for (RowPart& part : parts) {
    RowPart left;
    left.columns = std::move(part.columns);
    left.pieces = std::move(part.pieces);
    part = std::move(left);
  }
}

// The memory of columns is checked each time this many rows were added.
constexpr std::size_t kRowsBetweenLooks = 128;

std::size_t memory_of_columns(const RowPart& part) {
  std::size_t bytes = 0;
  for (const GrowingColumn& column : part.columns) bytes += column.memory();
  return bytes;
}

/// The columns of all parts, all in memory.
RawColumns raw_columns(std::span<RowPart> parts, std::size_t features) {
  RawColumns columns;
  for (RowPart& part : parts) {
    part.columns.resize(features);
    columns.emplace_back();
    for (GrowingColumn& column : part.columns) columns.back().push_back(column.raw(part.size()));
  }
  return columns;
}

/// A column without cells, for parts that lack a feature which other parts have.
Result<ColumnPiece> empty_piece(std::span<const RowPart> parts, ColumnFile& file) {
  std::size_t rows = 0;
  for (const RowPart& part : parts) rows = std::max(rows, part.size());
  return GrowingColumn().write(file, rows);
}

/// The columns of all parts in a file; columns still in memory are written to it first.
Result<RawColumns> raw_columns_in(std::span<RowPart> parts, std::size_t features, ColumnFile& file,
                                  FrozenArray<std::byte>& bytes) {
  TRY(auto nothing, empty_piece(parts, file));
  for (RowPart& part : parts) {
    if (part.pieces.empty()) TRY_VOID(part.write_columns(file));
    nothing.rows = part.size();
    part.pieces.resize(features, nothing);
  }
  TRY(bytes, file.map_all());
  RawColumns columns;
  for (const RowPart& part : parts) {
    columns.emplace_back();
    for (const ColumnPiece& piece : part.pieces)
      columns.back().push_back(piece.in({bytes.data() + piece.begin, piece.bytes()}));
  }
  return columns;
}

/// The column of one feature for every part. If parts lie in a file, each column is read whole: page faults
/// on the mapping would evict other pages where memory is short.
Result<std::vector<RawColumn>> columns_of(std::size_t feature, std::span<const RowPart> parts,
                                          const RawColumns& raw, const MemoryBudget* budget,
                                          std::vector<std::vector<std::byte>>& bytes) {
  std::vector<RawColumn> columns;
  if (budget != nullptr && feature + 1 < raw.front().size())
    for (const RowPart& part : parts) {
      const ColumnPiece& next = part.pieces[feature + 1];
      budget->parts().expect(next.begin, next.bytes());
    }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (budget == nullptr) {
      columns.push_back(raw[i][feature]);
      continue;
    }
    const ColumnPiece& piece = parts[i].pieces[feature];
    TRY(auto own, budget->parts().take(piece.begin, piece.bytes()));
    columns.push_back(piece.in(bytes.emplace_back(std::move(own))));
  }
  return columns;
}

/// Brings every feature into its final form; the parts' columns are freed.
Result<std::vector<CodedColumn>> finish_columns(std::span<RowPart> parts, const RawColumns& raw,
                                                const CanonicalOrder& order, bool is_absent_zero,
                                                unsigned threads, MemoryBudget* budget) {
  const std::size_t features = raw.front().size();
  ColumnFile* const file = budget != nullptr ? budget->columns().get() : nullptr;
  std::vector<RowSegment> segments = order.segments;
  std::ranges::stable_sort(segments, {}, &RowSegment::part);
  std::vector<CodedColumn> columns(features);
  SharedProgress progress(budget != nullptr ? budget->progress() : ProgressReport(), features);
  const auto finish = [&](std::size_t feature) -> Result<void> {
    std::vector<std::vector<std::byte>> bytes;
    TRY(const auto of_parts, columns_of(feature, parts, raw, budget, bytes));
    TRY(columns[feature], finish_column(of_parts, segments, order.rows, is_absent_zero, file));
    for (RowPart& part : parts)
      if (feature < part.columns.size()) part.columns[feature] = GrowingColumn();
    progress.add(1);
    return {};
  };
  TRY_VOID(
      try_parallel_for(features, budget != nullptr ? budget->columns_at_once(threads) : threads, finish));
  return columns;
}

}  // namespace

void set_rank_cells(std::span<const std::uint32_t> ranks, std::vector<Cell>& cells) {
  cells.clear();
  for (std::uint32_t list = 0; list < ranks.size(); ++list)
    if (ranks[list] > 0) cells.push_back({list, -static_cast<double>(ranks[list])});
}

void TrainingSetBuilder::add(const InstanceRow& row) {
  RowPart& part = parts_.back();
  const std::size_t number = part.size();
  require(number < std::numeric_limits<std::uint32_t>::max(), "fewer than 2^32 documents");
  if (number == 0 || part.block_queries[part.block_queries.size() - 1] != row.query) {
    part.block_queries.push_back(row.query);
    part.block_begins.push_back(static_cast<std::uint32_t>(number));
  }
  part.documents.push_back(row.document);
  part.grades.push_back(row.grade);
  part.in_feedback.push_back(row.is_in_feedback ? 1 : 0);
  for (const Cell& cell : row.cells) {
    require(!std::isinf(cell.value), "a feature value must be finite");
    if (cell.feature >= part.columns.size()) [[unlikely]]
      part.columns.resize(cell.feature + 1);
    part.columns[cell.feature].set(number, cell.value);
  }
}

Result<void> TrainingSetBuilder::keep_within_budget() {
  if (budget_ == nullptr || parts_.back().size() % kRowsBetweenLooks != 0) return {};
  return count_rows();
}

Result<void> TrainingSetBuilder::count_rows() {
  const RowPart& part = parts_.back();
  MemoryBudget& budget = *budget_;
  const RowCounts now{part.size(), part.documents.bytes(), part.block_queries.size()};
  RowCounts& before = counted_;
  TRY_VOID(budget.add(
      {now.documents - before.documents, now.characters - before.characters, now.queries - before.queries}));
  before = now;
  return memory_of_columns(part) < budget.part_bytes() ? Result<void>() : begin_part();
}

Result<void> TrainingSetBuilder::begin_part() {
  RowPart& part = parts_.back();
  TRY_VOID(part.write_columns(budget_->parts()));
  RowPart next;
  next.first = part.end();
  parts_.push_back(std::move(next));
  counted_ = {};
  return {};
}

void TrainingSetBuilder::append(TrainingSetBuilder&& other) {
  for (RowPart& part : other.parts_) {
    if (part.size() == 0) continue;
    part.first = parts_.back().end();
    require(part.end() < std::numeric_limits<std::uint32_t>::max(), "fewer than 2^32 documents");
    parts_.push_back(std::move(part));
  }
  other.parts_ = std::vector<RowPart>(1);
}

Result<TrainingSet> TrainingSetBuilder::finish(std::vector<Feature> features, const FeedbackOptions& feedback,
                                               bool is_absent_zero, unsigned threads) {
  MemoryBudget* const budget = budget_.get();
  for (const RowPart& part : parts_)
    require(std::max(part.columns.size(), part.pieces.size()) <= features.size(),
            "every cell belongs to a feature");
  FrozenArray<std::byte> bytes;
  RawColumns raw;
  if (budget != nullptr) {
    TRY(raw, raw_columns_in(parts_, features.size(), budget->parts(), bytes));
  } else {
    raw = raw_columns(parts_, features.size());
  }
  CanonicalOrder order = canonical_order(parts_, raw, is_absent_zero);
  if (order.twice) {
    twice_ = std::move(order.twice);
    return fail(Code::bad_data, "query \"" + twice_->query + "\": the document \"" + twice_->document +
                                    "\" occurs twice; keep one of its lines");
  }
  TrainingSet set;
  set.feedback = feedback;
  set.queries = std::move(order.queries);
  take_rows(parts_, order, set);
  TRY(auto columns, finish_columns(parts_, raw, order, is_absent_zero, threads, budget));
  set.matrix = FeatureMatrix(std::move(features), order.rows.size(), std::move(columns),
                             budget != nullptr ? budget->columns() : nullptr);
  *this = TrainingSetBuilder();
  return set;
}

}  // namespace metafuse::fusion
