#pragma once

// A set of documents within a window of posting_list.h.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "fetchers/engines/index/posting_list.h"

namespace metafuse::fetchers {

class WindowSet {
 public:
  static WindowSet all() {
    WindowSet set;
    set.bits_.fill(~std::uint64_t{0});
    return set;
  }

  bool contains(std::uint32_t place) const { return ((bits_[place / kBits] >> (place % kBits)) & 1) != 0; }
  void add(std::uint32_t place) { bits_[place / kBits] |= std::uint64_t{1} << (place % kBits); }
  bool is_empty() const {
    return std::all_of(bits_.begin(), bits_.end(), [](std::uint64_t bits) { return bits == 0; });
  }
  std::size_t size() const {
    std::size_t sum = 0;
    for (const std::uint64_t bits : bits_) sum += static_cast<std::size_t>(std::popcount(bits));
    return sum;
  }

  WindowSet& operator&=(const WindowSet& other) {
    for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] &= other.bits_[i];
    return *this;
  }
  WindowSet& operator|=(const WindowSet& other) {
    for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
    return *this;
  }
  void remove(const WindowSet& other) {
    for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] &= ~other.bits_[i];
  }
  /// Keeps the documents with more than `least`.
  void keep_above(const std::array<double, PostingList::kWindow>& scores, double least) {
    for (std::size_t i = 0; i < bits_.size(); ++i) {
      if (bits_[i] == 0) continue;
      std::uint64_t above = 0;
      for (std::size_t bit = 0; bit < kBits; ++bit)
        above |= static_cast<std::uint64_t>(scores[i * kBits + bit] > least) << bit;
      bits_[i] &= above;
    }
  }

  /// Calls `take(place)` with the documents, in ascending order.
  template <class Take>
  void for_each(const Take& take) const {
    for (std::size_t i = 0; i < bits_.size(); ++i)
      for (std::uint64_t bits = bits_[i]; bits != 0; bits &= bits - 1)
        take(static_cast<std::uint32_t>(i * kBits + static_cast<std::size_t>(std::countr_zero(bits))));
  }

 private:
  static constexpr std::size_t kBits = 64;
  std::array<std::uint64_t, PostingList::kWindow / kBits> bits_{};
};

}  // namespace metafuse::fetchers
