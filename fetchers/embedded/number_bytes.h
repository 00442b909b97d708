#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace metafuse::fetchers {

/// Appends a number in seven bits per byte, lowest first; every byte but the last has its top bit set.
inline void append_number_bytes(std::string& out, std::uint32_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>((number & 0x7f) | 0x80);
  out += static_cast<char>(number);
}

/// Reads a number and removes it from `bytes`. False if the bytes end too early or the number exceeds
/// 32 bits.
inline bool take_number_bytes(std::string_view& bytes, std::uint32_t& number) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    if (bytes.empty()) return false;
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) != 0) continue;
    number = static_cast<std::uint32_t>(value);
    return value <= 0xffffffff;
  }
  return false;
}

}  // namespace metafuse::fetchers
