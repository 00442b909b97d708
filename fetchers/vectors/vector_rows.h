#pragma once

// Unit vectors in rows: written in half precision, searched in eight bits. A search by cosine reads the
// eight-bit rows, whose rounding errors are known, and names every row that can be among the nearest; whoever
// asks scores those few by their exact rows.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"

namespace metafuse::fetchers {

inline constexpr std::size_t kMaxDimensions = 4096;

/// Scales a vector to length 1. False, and the vector is as it was, when its length is zero or no number.
bool normalise(std::span<float> vector);

/// A vector as IEEE 754 binary16, two bytes a number, the lower one first. Requires numbers from -1 to 1.
std::string half_row(std::span<const float> vector);

/// False when the bytes are not two per number.
bool read_half_row(std::string_view bytes, std::span<float> vector);

/// "[0.25,-0.5]", as {vector} becomes.
std::string vector_text(std::span<const float> vector);

/// The inner product, summed in double precision.
double inner_product(std::span<const float> left, std::span<const float> right);

/// Rows of eight-bit numbers with the scale and the rounding error of each. Immutable once filled, so threads
/// may share it.
class VectorRows {
 public:
  explicit VectorRows(std::size_t dimensions);

  std::size_t size() const { return scales_.size(); }
  std::size_t dimensions() const { return dimensions_; }
  void reserve(std::size_t rows);

  /// Requires a vector of `dimensions` numbers.
  void add(std::span<const float> vector);

  /// The rows that can be among the `count` with the largest inner products, in no order.
  ///
  /// in:     query - of length 1
  /// out:    all of them, by the rounding errors (Cauchy-Schwarz); only where more than count + 4096 rows lie
  ///         within these errors, so many with the largest estimates
  /// errors: try_again: the deadline passed
  /// cost:   one pass over dimensions bytes per row: 1,000,000 x 384 in about 30 ms
  Result<std::vector<std::uint32_t>> candidates(std::span<const float> query, std::size_t count,
                                                const Deadline& deadline) const;

 private:
  std::size_t dimensions_;
  std::size_t width_;  ///< of a row: dimensions, filled up with zeros
  std::vector<std::int8_t> numbers_;
  std::vector<float> scales_;
  std::vector<float> errors_;  ///< length of what rounding took from each row
};

}  // namespace metafuse::fetchers
