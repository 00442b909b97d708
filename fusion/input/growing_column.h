#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "fusion/data/feature_matrix.h"
#include "fusion/input/growing_array.h"

namespace metafuse::fusion {

/// Places [begin, end) of an order of rows that stand in one part, whose own rows are counted from `first`.
struct RowSegment {
  std::size_t part = 0;
  std::size_t first = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A column while it grows: values in the order in which they were first seen, found by open addressing.
/// Code 0 is "no cell"; NaN is a value like any other here and becomes "unranked" at the end.
class GrowingColumn {
 public:
  /// Requires a row behind all rows set so far.
  void set(std::size_t row, double value) {
    const std::uint32_t code = code_of(value);
    if (code <= kMostByteValues && !is_wide_) [[likely]]
      bytes_.put(row, static_cast<std::uint8_t>(code));
    else
      set_wide(row, code);
  }

  /// The value of a row's cell as a number that orders cells: unranked lowest. For tie-breaking only.
  double sort_key(std::size_t row, bool is_absent_zero) const;

 private:
  static constexpr std::size_t kMostByteValues = 255;

  std::uint32_t raw(std::size_t row) const {
    if (!is_wide_) return row < bytes_.size() ? bytes_[row] : 0;
    return row < words_.size() ? words_[row] : 0;
  }
  bool has_absent(std::size_t rows) const;

  static std::uint64_t bits_of(double value) {
    if (value == 0.0) return 0;  // minus zero is zero
    if (std::isnan(value)) return 0x7ff8000000000000U;
    return std::bit_cast<std::uint64_t>(value);
  }

  std::size_t slot_of(std::uint64_t bits) const {
    return static_cast<std::size_t>(bits * 0x9e3779b97f4a7c15U >> shift_);
  }

  std::uint32_t code_of(double value) {
    const std::uint64_t bits = bits_of(value);
    // Both places where nearly every value is found, without a jump that depends on which.
    const std::size_t at = slot_of(bits);
    const std::uint32_t first = slots_[at];
    const std::uint32_t second = slots_[at + 1];
    const std::uint32_t code = values_[first] == bits ? first : second;
    if (code != 0 && values_[code] == bits) [[likely]]
      return code;
    return find_or_add(bits);
  }

  std::uint32_t find_or_add(std::uint64_t bits);
  void set_wide(std::size_t row, std::uint32_t code);
  void put_in_slot(std::uint32_t code);
  void add_values(std::size_t rows, bool is_absent_zero, std::vector<double>& values) const;
  std::vector<std::uint32_t> translation(const std::vector<double>& sorted, bool is_absent_zero) const;
  /// Makes cells of all rows that have none.
  void fill_up(std::size_t rows);

  std::vector<std::uint64_t> values_{0};  // bits by code; code 0 has none
  std::vector<std::uint32_t> slots_{0, 0,
                                    0};  // codes; a power of two of them, and the first once more behind
  int shift_ = 63;
  GrowingArray<std::uint8_t> bytes_;
  GrowingArray<std::uint32_t> words_;
  bool is_wide_ = false;

  friend CodedColumn finish_column(std::span<GrowingColumn* const> parts,
                                   std::span<const RowSegment> segments, std::span<const std::uint32_t> rows,
                                   bool is_absent_zero);
};

/// One feature of all parts in its final form: rows in the order of `rows`, values ascending. Leaves nothing
/// behind.
CodedColumn finish_column(std::span<GrowingColumn* const> parts, std::span<const RowSegment> segments,
                          std::span<const std::uint32_t> rows, bool is_absent_zero);

}  // namespace metafuse::fusion
