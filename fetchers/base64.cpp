#include "fetchers/base64.h"

#include <cstdint>

namespace metafuse::fetchers {
namespace {
constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string base64_encoded(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    const std::size_t left = bytes.size() - at;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < left ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) out += i <= left ? kAlphabet[group >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

std::optional<std::string> base64_decoded(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::uint32_t group = 0;
    std::size_t padding = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t value = kAlphabet.find(text[at + i]);
      const bool is_padding = text[at + i] == '=' && at + 4 == text.size() && i >= 2;
      if ((value == std::string_view::npos && !is_padding) || (padding > 0 && !is_padding))
        return std::nullopt;
      padding += is_padding ? 1 : 0;
      group = group << 6 | (is_padding ? 0U : static_cast<std::uint32_t>(value));
    }
    for (std::size_t i = 0; i < 3 - padding; ++i) out += static_cast<char>(group >> (16 - 8 * i) & 0xFF);
  }
  return out;
}

}  // namespace metafuse::fetchers
