#include "fusion/input/training_set_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/contract.h"
#include "core/parallel.h"
#include "fusion/input/canonical_order.h"
#include "fusion/input/row_part.h"

namespace metafuse::fusion {
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
