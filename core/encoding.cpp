#include "core/encoding.h"

#include <algorithm>
#include <utility>

#include <openssl/evp.h>

#include "core/contract.h"
#include "core/text.h"

namespace metafuse {
namespace {

/// OpenSSL takes lengths as int; no caller comes near this limit.
constexpr std::size_t kMost = std::size_t{1} << 30;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

}  // namespace

std::string base64_encoded(std::string_view bytes) {
  require(bytes.size() < kMost, "base64 of less than a gigabyte");
  std::string out((bytes.size() + 2) / 3 * 4, '\0');
  EVP_EncodeBlock(bytes_of(out), bytes_of(bytes), static_cast<int>(bytes.size()));  // also writes a final NUL
  return out;
}

std::optional<std::string> base64_decoded(std::string_view text) {
  if (text.size() % 4 != 0 || text.size() > kMost) return std::nullopt;
  // OpenSSL decodes padding anywhere as zeros. Blanks at both ends and hyphens at the end it leaves out.
  const std::size_t padding = text.size() - std::min(text.find('='), text.size());
  if (padding > 2 || text.substr(text.size() - padding) != std::string_view("==", padding))
    return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int decoded = EVP_DecodeBlock(bytes_of(out), bytes_of(text), static_cast<int>(text.size()));
  if (std::cmp_not_equal(decoded, out.size())) return std::nullopt;
  out.resize(out.size() - padding);
  return out;
}

std::string hex_encoded(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string percent_encoded(std::string_view text, bool has_plus_for_blank) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_ascii_letter_or_digit(c) || c == '-' || c == '_' || c == '.' || c == '~') {
      out += c;
    } else if (c == ' ' && has_plus_for_blank) {
      out += '+';
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high < 0 ? -1 : hex_value(text[i + 2]);
    if (low < 0) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_noncharacter = byte == 0xef && text.substr(i + 1, 1) == "\xbf" && i + 2 < text.size() &&
                                 static_cast<unsigned char>(text[i + 2]) >= 0xbe;
    if (is_noncharacter) {  // U+FFFE and U+FFFF
      i += 2;
      continue;
    }
    if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') continue;
    if (byte == '&')
      out += "&amp;";
    else if (byte == '<')
      out += "&lt;";
    else if (byte == '>')
      out += "&gt;";
    else if (byte == '"')
      out += "&quot;";
    else if (byte == '\'')
      out += "&#39;";
    else
      out += text[i];
  }
  return out;
}

std::string csv_cell(std::string text) {
  if (!text.empty() && std::string_view("=+-@\t\r\n").find(text.front()) != std::string_view::npos)
    text.insert(text.begin(), '\'');
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    out += c;
    if (c == '"') out += '"';
  }
  return out + '"';
}

}  // namespace metafuse
