#include "fusion/input/training_set_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "core/contract.h"
#include "core/parallel.h"
#include "fusion/data/fused_order.h"
#include "fusion/input/growing_column.h"

namespace metafuse::fusion {
namespace {

/// Rows [begin, end) of one query.
struct Block {
  std::string_view query;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// By query, then as read.
std::vector<Block> sorted_blocks(std::span<const RowPart> parts) {
  std::vector<Block> blocks;
  for (const RowPart& part : parts)
    for (std::size_t i = 0; i < part.block_begins.size(); ++i) {
      const std::size_t end = i + 1 < part.block_begins.size() ? part.block_begins[i + 1] : part.size();
      blocks.push_back({part.block_queries[i], static_cast<std::uint32_t>(part.first + part.block_begins[i]),
                        static_cast<std::uint32_t>(part.first + end)});
    }
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
    const int queries = a.query.compare(b.query);
    return queries != 0 ? queries < 0 : a.begin < b.begin;
  });
  return blocks;
}

/// Which part holds a row.
std::size_t part_at(std::span<const RowPart> parts, std::uint32_t row) {
  std::size_t i = parts.size() - 1;
  while (row < parts[i].first) --i;
  return i;
}

/// Orders the documents of one query after another.
class DocumentOrder {
 public:
  DocumentOrder(std::span<const RowPart> parts, bool is_absent_zero)
      : parts_(parts), is_absent_zero_(is_absent_zero) {}

  /// out: whether a document may stand twice
  bool sort(std::span<std::uint32_t> rows) {
    const std::span<const std::uint32_t> all(rows);
    const auto id = [this](std::uint32_t row) { return id_of(row); };
    const bool has_ids =
        std::any_of(rows.begin(), rows.end(), [&](std::uint32_t row) { return !id(row).empty(); });
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
    const RowPart& part = part_of(row);
    return part.columns[feature].sort_key(row - part.first, is_absent_zero_);
  }

  double first_value(std::uint32_t row) const { return parts_[0].columns.empty() ? 0.0 : value(0, row); }

  bool precedes(std::uint32_t a, std::uint32_t b) const {
    const int ids = id_of(a).compare(id_of(b));
    if (ids != 0) return ids < 0;
    return id_of(a).empty() && precedes_by_content(a, b);
  }

  bool precedes_by_content(std::uint32_t a, std::uint32_t b) const {
    for (std::size_t feature = 0; feature < parts_[0].columns.size(); ++feature) {
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
  bool is_absent_zero_;
  std::vector<std::uint64_t> keys_;
};

/// Makes a segment of every run of rows of one part.
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

}  // namespace

Result<CanonicalOrder> canonical_order(std::span<const RowPart> parts, bool is_absent_zero) {
  CanonicalOrder order;
  order.rows.reserve(parts.back().end());
  DocumentOrder documents(parts, is_absent_zero);
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
    if (twice != rows.end())
      return fail(Code::bad_data, "query \"" + std::string(query) + "\": the document \"" +
                                      std::string(documents.id_of(*twice)) +
                                      "\" stands twice; keep one of its lines");
  }
  order.segments = segments_of(parts, order.rows);
  return order;
}

namespace {

/// One feature of all parts, which keep nothing of it.
CodedColumn take_column(std::span<RowPart> parts, std::size_t feature, const CanonicalOrder& order,
                        bool is_absent_zero) {
  std::vector<GrowingColumn*> columns;
  for (RowPart& part : parts) columns.push_back(&part.columns[feature]);
  return finish_column(columns, order.segments, order.rows, is_absent_zero);
}

/// All but the columns, freed in the parts.
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
    part = std::move(left);
  }
}

}  // namespace

struct TrainingSetBuilder::State {
  std::vector<RowPart> parts{1};
};

void set_rank_cells(std::span<const std::uint32_t> ranks, std::vector<Cell>& cells) {
  cells.clear();
  for (std::uint32_t list = 0; list < ranks.size(); ++list)
    if (ranks[list] > 0) cells.push_back({list, -static_cast<double>(ranks[list])});
}

TrainingSetBuilder::TrainingSetBuilder() : state_(std::make_unique<State>()) {}
TrainingSetBuilder::~TrainingSetBuilder() = default;
TrainingSetBuilder::TrainingSetBuilder(TrainingSetBuilder&&) noexcept = default;
TrainingSetBuilder& TrainingSetBuilder::operator=(TrainingSetBuilder&&) noexcept = default;

void TrainingSetBuilder::add(const InstanceRow& row) {
  RowPart& part = state_->parts.back();
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

void TrainingSetBuilder::append(TrainingSetBuilder&& other) {
  for (RowPart& part : other.state_->parts) {
    if (part.size() == 0) continue;
    part.first = state_->parts.back().end();
    require(part.end() < std::numeric_limits<std::uint32_t>::max(), "fewer than 2^32 documents");
    state_->parts.push_back(std::move(part));
  }
  *other.state_ = State();
}

Result<TrainingSet> TrainingSetBuilder::finish(std::vector<Feature> features, const FeedbackOptions& feedback,
                                               bool is_absent_zero, unsigned threads) {
  std::vector<RowPart>& parts = state_->parts;
  for (RowPart& part : parts) {
    require(part.columns.size() <= features.size(), "every cell belongs to a feature");
    part.columns.resize(features.size());
  }
  TRY(auto order, canonical_order(parts, is_absent_zero));
  TrainingSet set;
  set.feedback = feedback;
  set.queries = std::move(order.queries);
  take_rows(parts, order, set);
  std::vector<CodedColumn> columns(features.size());
  parallel_for(columns.size(), threads, [&](std::size_t feature) {
    columns[feature] = take_column(parts, feature, order, is_absent_zero);
  });
  set.matrix = FeatureMatrix(std::move(features), order.rows.size(), std::move(columns));
  *state_ = State();
  return set;
}

}  // namespace metafuse::fusion
