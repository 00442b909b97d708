#pragma once

// Numbers in the BLOBs of an index.

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metafuse::fetchers {

/// Appends a number in seven bits per byte, lowest first; every byte but the last has its top bit set.
inline void append_number_bytes(std::string& out, std::uint32_t number) {
  std::array<char, 5> bytes{};
  std::size_t count = 0;
  for (; number >= 0x80; number >>= 7) bytes[count++] = static_cast<char>((number & 0x7f) | 0x80);
  bytes[count++] = static_cast<char>(number);
  out.append(bytes.data(), count);
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

/// The bytes of the first numbers; nothing if there are fewer.
inline std::optional<std::string_view> first_numbers(std::string_view bytes, std::uint64_t numbers) {
  constexpr std::uint64_t kTopBits = 0x8080808080808080;
  std::size_t end = 0;
  // eight bytes at once while none of them can lie behind the last number
  for (std::uint64_t word = 0; numbers >= sizeof word && end + sizeof word <= bytes.size();
       end += sizeof word) {
    std::memcpy(&word, bytes.data() + end, sizeof word);
    numbers -= static_cast<std::uint64_t>(std::popcount(~word & kTopBits));
  }
  for (; numbers > 0 && end < bytes.size(); ++end)
    if ((static_cast<unsigned char>(bytes[end]) & 0x80) == 0) --numbers;
  if (numbers > 0) return std::nullopt;
  return bytes.substr(0, end);
}

/// Numbers of a fixed size, as they lie in memory.
template <class Number>
std::string_view bytes_of(std::span<const Number> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

/// Appends such numbers. False if the bytes end inside a number.
template <class Number>
bool append_numbers(std::string_view bytes, std::vector<Number>& numbers) {
  const std::size_t before = numbers.size();
  const std::size_t count = bytes.size() / sizeof(Number);
  numbers.resize(before + count);
  if (count > 0) std::memcpy(numbers.data() + before, bytes.data(), count * sizeof(Number));
  return bytes.size() % sizeof(Number) == 0;
}

}  // namespace metafuse::fetchers
