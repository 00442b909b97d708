#pragma once

// Unit vectors in rows, stored in half precision and searched in eight bits. A search by cosine scans the
// eight-bit rows, whose rounding errors are known, and returns every row that can be among the nearest. The
// caller then scores those few by their exact rows.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"

namespace metafuse::fetchers {

inline constexpr std::size_t kMaxDimensions = 4096;

/// The vectors of several texts.
using Vectors = std::vector<std::vector<float>>;
/// Computes one vector per text, all of the same size.
using EmbedTexts = std::function<Result<Vectors>(std::span<const std::string> texts)>;

/// Scales a vector to length 1. Returns false and leaves it unchanged when its length is zero or not finite.
bool normalise(std::span<float> vector);

/// A vector as IEEE 754 binary16, two bytes per number, low byte first. Requires numbers from -1 to 1.
std::string half_row(std::span<const float> vector);

/// False unless there are exactly two bytes per number.
bool read_half_row(std::string_view bytes, std::span<float> vector);

/// "[0.25,-0.5]", the text that replaces {vector}.
std::string vector_text(std::span<const float> vector);

/// The inner product, summed in double precision.
double inner_product(std::span<const float> left, std::span<const float> right);

/// Rows of eight-bit numbers, each row with its scale and rounding error. Immutable once filled, so threads
/// may share it.
class VectorRows {
 public:
  explicit VectorRows(std::size_t dimensions);

  std::size_t size() const { return scales_.size(); }
  std::size_t dimensions() const { return dimensions_; }
  void reserve(std::size_t rows);

  /// Requires a vector of `dimensions` numbers.
  void add(std::span<const float> vector);

  /// The rows that can be among the `count` with the largest inner products, in no particular order.
  ///
  /// in:     query - of length 1
  /// out:    all such rows, by bounding the rounding errors (Cauchy-Schwarz). If more than count + 4096 rows
  ///         lie within the bounds, only that many with the largest estimates.
  /// errors: try_again: the deadline passed
  /// cost:   one pass over dimensions bytes per row: 1,000,000 x 384 in about 30 ms
  Result<std::vector<std::uint32_t>> candidates(std::span<const float> query, std::size_t count,
                                                const Deadline& deadline) const;

 private:
  std::size_t dimensions_;
  std::size_t width_;  ///< of a row: dimensions, padded with zeros
  std::vector<std::int8_t> numbers_;
  std::vector<float> scales_;
  std::vector<float> errors_;  ///< length of the rounding error of each row
};

}  // namespace metafuse::fetchers
