#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace metafuse::fusion {

/// The first eight bytes of a text as a number that orders texts bytewise, as far as they go.
inline std::uint64_t first_bytes(std::string_view text) {
  const std::size_t count = text.size() < 8 ? text.size() : 8;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < count; ++i) number = number << 8 | static_cast<unsigned char>(text[i]);
  return count == 0 ? 0 : number << 8 * (8 - count);
}

/// A number that orders finite and infinite doubles; minus zero is zero.
std::uint64_t ordered_bits(double number);

/// How many bytes at the front the texts `text_of(item)` share.
template <class Item, class TextOf>
std::size_t common_prefix(std::span<const Item> items, const TextOf& text_of) {
  if (items.empty()) return 0;
  std::string_view prefix = text_of(items.front());
  for (const Item& item : items) {
    const std::string_view text = text_of(item);
    const std::size_t most = std::min(prefix.size(), text.size());
    std::size_t same = 0;
    while (same < most && prefix[same] == text[same]) ++same;
    prefix = prefix.substr(0, same);
  }
  return prefix.size();
}

constexpr unsigned kPlaceBits = 16;  // of a key, for the place of its item

/// Sorts numbers whose low kPlaceBits ascend, by their other bits or as many of these as should do.
/// out:  the lowest bit that counts
/// cost: a pass for each byte that differs, or comparisons where that is less
unsigned sort_prefixes(std::vector<std::uint64_t>& numbers);

/// Puts items in order by the front of their keys, which should decide nearly always, and by `precedes` where
/// that is equal.
///
/// in:  keys - one an item, ascending as `precedes` has it; used up
/// out: whether any was equal
template <class Item, class Precedes>
bool sort_by_keys(std::vector<std::uint64_t>& keys, std::span<Item> items, const Precedes& precedes) {
  constexpr std::uint64_t kPlaces = (std::uint64_t{1} << kPlaceBits) - 1;
  if (items.size() > kPlaces) {
    std::sort(items.begin(), items.end(), precedes);
    return true;
  }
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = (keys[i] & ~kPlaces) | i;
  const unsigned front = sort_prefixes(keys);
  const std::vector<Item> before(items.begin(), items.end());
  bool has_equals = false;
  std::size_t begin = 0;  // of items with equal keys
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i] = before[keys[i] & kPlaces];
    if (i + 1 < items.size() && keys[i] >> front == keys[i + 1] >> front) continue;
    if (i > begin) {
      has_equals = true;
      std::sort(items.begin() + static_cast<std::ptrdiff_t>(begin),
                items.begin() + static_cast<std::ptrdiff_t>(i + 1), precedes);
    }
    begin = i + 1;
  }
  return has_equals;
}

}  // namespace metafuse::fusion
