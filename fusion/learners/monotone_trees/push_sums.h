#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace metafuse::fusion::monotone_trees {

/// A push in whole numbers, so that sums are exact in any order, and stay exact when a part is subtracted.
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

/// Columns of codes whose pushes are summed by code, several columns at a time. A document's push is then
/// read once for all these columns, and an addition need not wait for the previous one to the same sum.
class PushColumns {
 public:
  static constexpr std::size_t kMost = 8;

  /// Adds a column. Sums up all columns as soon as there are kMost.
  /// in: codes - one per document of the whole data; sums - one per code
  void add(const std::uint8_t* codes, WholePush* sums, std::span<const std::uint32_t> documents,
           std::span<const WholePush> pushes);
  /// Sums up the remaining columns.
  void sum_up(std::span<const std::uint32_t> documents, std::span<const WholePush> pushes);

 private:
  const std::uint8_t* codes_[kMost];
  WholePush* sums_[kMost];
  std::size_t count_ = 0;
};

}  // namespace metafuse::fusion::monotone_trees
