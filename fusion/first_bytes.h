#pragma once

#include <cstdint>
#include <string_view>

namespace metafuse::fusion {

/// The first eight bytes of a text as a number that orders texts bytewise, as far as they go.
inline std::uint64_t first_bytes(std::string_view text) {
  const std::size_t count = text.size() < 8 ? text.size() : 8;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < count; ++i) number = number << 8 | static_cast<unsigned char>(text[i]);
  return count == 0 ? 0 : number << 8 * (8 - count);
}

}  // namespace metafuse::fusion
