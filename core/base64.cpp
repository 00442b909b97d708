#include "core/encoding.h"

#include <algorithm>

#include <openssl/evp.h>

#include "core/contract.h"

namespace metafuse {
namespace {

/// More would not fit OpenSSL's int of a length; no caller has as much.
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
  EVP_EncodeBlock(bytes_of(out), bytes_of(bytes), static_cast<int>(bytes.size()));  // a 0 ends it too
  return out;
}

std::optional<std::string> base64_decoded(std::string_view text) {
  if (text.size() % 4 != 0 || text.size() > kMost) return std::nullopt;
  // OpenSSL takes padding for zeros wherever it stands, and leaves spaces at the ends out
  const std::size_t padding = text.size() - std::min(text.find('='), text.size());
  if (padding > 2 || text.substr(text.size() - padding) != std::string_view("==", padding))
    return std::nullopt;
  if (text.find_first_of(" \t\r\n") != std::string_view::npos) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  if (EVP_DecodeBlock(bytes_of(out), bytes_of(text), static_cast<int>(text.size())) < 0) return std::nullopt;
  out.resize(out.size() - padding);
  return out;
}

}  // namespace metafuse
