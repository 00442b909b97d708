#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/text_list.h"
#include "fusion/input/growing_array.h"
#include "fusion/input/growing_column.h"

namespace metafuse::fusion {

/// Judged documents in the order in which one reader met them.
struct RowPart {
  std::size_t first = 0;  ///< the number of the first row, where those of several parts are counted on
  std::vector<GrowingColumn> columns;
  TextList documents;
  GrowingArray<double> grades;
  GrowingArray<std::uint8_t> in_feedback;
  // Rows of one query that stand together are a block.
  TextList block_queries;
  GrowingArray<std::uint32_t> block_begins;

  std::size_t size() const { return grades.size(); }
  std::size_t end() const { return first + size(); }
};

}  // namespace metafuse::fusion
