#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace metafuse::fusion::monotone_trees {

/// A push in whole numbers: sums are exact in any order, and what is left of one when another is taken out.
struct WholePush {
  std::int64_t potential = 0;
  std::int64_t curvature = 0;

  WholePush& operator+=(const WholePush& other) {
    potential += other.potential;
    curvature += other.curvature;
    return *this;
  }
  WholePush& operator-=(const WholePush& other) {
    potential -= other.potential;
    curvature -= other.curvature;
    return *this;
  }
};

/// Columns of codes whose pushes are summed up by code, several columns at a time: a document's push is read
/// once for all of them, and an addition need not wait for the one before into the same sum.
class PushColumns {
 public:
  static constexpr std::size_t kMost = 8;

  /// Adds a column; sums up those there are when they are kMost.
  /// in:     codes - one per document of all; sums - one per code
  void add(const std::uint8_t* codes, WholePush* sums, std::span<const std::uint32_t> documents,
           std::span<const WholePush> pushes);
  /// Sums up the columns that are left.
  void sum_up(std::span<const std::uint32_t> documents, std::span<const WholePush> pushes);

 private:
  const std::uint8_t* codes_[kMost];
  WholePush* sums_[kMost];
  std::size_t count_ = 0;
};

}  // namespace metafuse::fusion::monotone_trees
