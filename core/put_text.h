#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace metafuse {

/// Copies a text of Size to 2 x Size bytes by two copies of Size bytes, which may overlap.
template <std::size_t Size>
void put_ends(char* at, std::string_view text) {
  std::memcpy(at, text.data(), Size);
  std::memcpy(at + text.size() - Size, text.data() + text.size() - Size, Size);
}

/// Copies a text and returns the end of the copy. Short texts, as ids and numbers are, need no call.
inline char* put_text(char* at, std::string_view text) {
  if (text.size() > 32)
    std::memcpy(at, text.data(), text.size());
  else if (text.size() >= 16)
    put_ends<16>(at, text);
  else if (text.size() >= 8)
    put_ends<8>(at, text);
  else if (text.size() >= 4)
    put_ends<4>(at, text);
  else
    for (std::size_t i = 0; i < text.size(); ++i) at[i] = text[i];
  return at + text.size();
}

inline constexpr std::size_t kMostWholeDigits = 20;  ///< of 64 bits

/// Writes a whole number and returns its end.
///
/// in: at - kMostWholeDigits writable bytes
inline char* put_whole(char* at, std::uint64_t number) {
  if (number >= 100) return std::to_chars(at, at + kMostWholeDigits, number).ptr;
  *at = static_cast<char>('0' + number / 10);
  at += number >= 10 ? 1 : 0;
  *at++ = static_cast<char>('0' + number % 10);
  return at;
}

}  // namespace metafuse
