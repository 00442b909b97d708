#pragma once

// Columns of training data while input is read. Each reader has a part of its own, whose columns hold codes
// into dictionaries of distinct values; finish_column() then joins the columns of all parts. Nothing here is
// synchronised: no two threads may change the same column.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "core/keyed_hash.h"
#include "core/result.h"
#include "core/text_list.h"
#include "fusion/data/feature_matrix.h"

namespace metafuse::fusion {

/// A growing array of numbers. A large block is a mapping of its own: it grows by moving page table entries
/// instead of copying, does not fragment the heap, and takes no memory for pages never written. All capacity
/// behind the end is 0.
template <class Number>
class GrowingArray {
 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept { swap(other); }
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    GrowingArray taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~GrowingArray() { release(numbers_, capacity_); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Bytes of memory that were written.
  std::size_t bytes() const { return size_ * sizeof(Number); }
  Number operator[](std::size_t i) const { return numbers_[i]; }
  const Number* begin() const { return numbers_; }
  const Number* end() const { return numbers_ + size_; }

  /// Stores a number at or behind the end; skipped places become 0.
  void put(std::size_t at, Number number) {
    if (at >= capacity_) [[unlikely]]
      grow(at + 1 + at / 4 + 64);
    numbers_[at] = number;
    size_ = at + 1;
  }

  void push_back(Number number) { put(size_, number); }

  void clear() { *this = GrowingArray(); }

 private:
  // Arrays of at least this many numbers are mappings.
  static constexpr std::size_t kMapped = (std::size_t{1} << 16) / sizeof(Number);

  void swap(GrowingArray& other) noexcept {
    std::swap(numbers_, other.numbers_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  static void release(Number* numbers, std::size_t capacity) {
    if (capacity < kMapped)
      std::free(numbers);
    else
      ::munmap(numbers, capacity * sizeof(Number));
  }

  static Number* map(std::size_t count) {
    void* const block =
        ::mmap(nullptr, count * sizeof(Number), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) throw std::bad_alloc();
    return static_cast<Number*>(block);
  }

  void grow(std::size_t capacity) {
    if (capacity < kMapped) {
      void* const moved = std::realloc(numbers_, capacity * sizeof(Number));
      if (moved == nullptr) throw std::bad_alloc();
      numbers_ = static_cast<Number*>(moved);
      std::memset(numbers_ + capacity_, 0, (capacity - capacity_) * sizeof(Number));
    } else if (capacity_ < kMapped) {
      Number* const block = map(capacity);
      if (size_ > 0) std::memcpy(block, numbers_, size_ * sizeof(Number));
      release(numbers_, capacity_);
      numbers_ = block;
    } else {
      void* const moved =
          ::mremap(numbers_, capacity_ * sizeof(Number), capacity * sizeof(Number), MREMAP_MAYMOVE);
      if (moved == MAP_FAILED) throw std::bad_alloc();
      numbers_ = static_cast<Number*>(moved);
    }
    capacity_ = capacity;
  }

  Number* numbers_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Positions [begin, end) of an order of rows whose rows all belong to one part; the part's rows are numbered
/// from `first`.
struct RowSegment {
  std::size_t part = 0;
  std::size_t first = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A complete column of one part, in memory or in a file: codes in row order, and the bits of the value that
/// each code stands for. Code 0 means "no cell".
struct RawColumn {
  std::span<const std::uint64_t> values;  ///< by code; the entry of code 0 is unused
  std::span<const std::uint8_t> bytes;    ///< the codes, in either `bytes` or `words`
  std::span<const std::uint32_t> words;
  bool is_full = false;  ///< whether every row is known to have a cell

  /// A number that orders cells by value, unranked cells lowest. For breaking ties only.
  double sort_key(std::size_t row, bool is_absent_zero) const;
};

/// The location of a part's column in a file of columns: its values, followed by its codes.
struct ColumnPiece {
  std::uint64_t begin = 0;
  std::size_t values = 0;
  std::size_t rows = 0;
  bool is_wide = false;
  bool is_full = false;

  /// How many bytes of the file the column takes.
  std::size_t bytes() const {
    return values * sizeof(std::uint64_t) + rows * (is_wide ? sizeof(std::uint32_t) : sizeof(std::uint8_t));
  }
  /// Interprets the column's bytes.
  /// in: own - the column's bytes, at an address that is a multiple of 8
  RawColumn in(std::span<const std::byte> own) const;
};

/// A column under construction. Values are kept in the order in which they were first seen and found by open
/// addressing. Code 0 means "no cell". NaN is an ordinary value here and becomes "unranked" at the end.
class GrowingColumn {
 public:
  /// Requires a row behind all rows that were set before.
  void set(std::size_t row, double value) {
    const std::uint32_t code = code_of(value);
    if (code <= kMostByteValues && !is_wide_) [[likely]]
      bytes_.put(row, static_cast<std::uint8_t>(code));
    else
      set_wide(row, code);
  }

  /// The column with the given number of rows; rows without a cell get code 0. Valid until this
  /// object changes.
  RawColumn raw(std::size_t rows);

  /// Writes the column with the given number of rows to a file.
  Result<ColumnPiece> write(ColumnFile& file, std::size_t rows);

  /// The approximate memory use in bytes.
  std::size_t memory() const {
    return values_.capacity() * sizeof(std::uint64_t) + slots_.capacity() * sizeof(std::uint32_t) +
           bytes_.bytes() + words_.bytes();
  }

 private:
  static constexpr std::size_t kMostByteValues = 255;

  static std::uint64_t bits_of(double value) {
    if (value == 0.0) return 0;  // minus zero is zero
    if (std::isnan(value)) return 0x7ff8000000000000U;
    return std::bit_cast<std::uint64_t>(value);
  }

  std::size_t slot_of(std::uint64_t bits) const {
    return static_cast<std::size_t>((bits ^ secret_.first) * secret_.second >> shift_);
  }

  std::uint32_t code_of(double value) {
    const std::uint64_t bits = bits_of(value);
    // Nearly every value is in one of these two slots. Both are read, so that no branch depends on which one
    // it is.
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

  std::vector<std::uint64_t> values_{0};  // bits by code; the entry of code 0 is unused
  // Codes: a power of two of slots, and a copy of the first slot behind the last.
  std::vector<std::uint32_t> slots_{0, 0, 0};
  HashSecret secret_ = hash_secret();  // or a file could choose values that all have one slot
  int shift_ = 63;
  GrowingArray<std::uint8_t> bytes_;
  GrowingArray<std::uint32_t> words_;
  bool is_wide_ = false;
};

/// Makes the final column of one feature from all its parts: rows in the order of `rows`, values ascending.
///
/// in:     segments - sorted by part; file - where the column is stored; null: in memory
/// errors: those of the file
/// cost:   memory: 28 bytes per distinct value of each part, plus the codes
Result<CodedColumn> finish_column(std::span<const RawColumn> parts, std::span<const RowSegment> segments,
                                  std::span<const std::uint32_t> rows, bool is_absent_zero, ColumnFile* file);

/// Judged documents in the order in which one reader read them.
struct RowPart {
  std::size_t first = 0;  ///< number of the first row, when rows are numbered across parts
  std::vector<GrowingColumn> columns;
  std::vector<ColumnPiece> pieces;  ///< where the columns lie in a file; `columns` holds nothing then
  TextList documents;
  GrowingArray<double> grades;
  GrowingArray<std::uint8_t> in_feedback;
  // A block is a run of consecutive rows of the same query.
  TextList block_queries;
  GrowingArray<std::uint32_t> block_begins;

  std::size_t size() const { return grades.size(); }
  std::size_t end() const { return first + size(); }
  /// Moves the columns to a file.
  Result<void> write_columns(ColumnFile& file);
};

}  // namespace metafuse::fusion
