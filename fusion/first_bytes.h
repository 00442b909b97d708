#pragma once

#include <cstdint>
#include <string_view>

namespace metafuse::fusion {

/// The first eight bytes of a text as a number that orders texts bytewise, as far as they go.
inline std::uint64_t first_bytes(std::string_view text) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i)
    number = number << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
  return number;
}

}  // namespace metafuse::fusion
