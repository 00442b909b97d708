#include "service/digest.h"

#include <vector>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "core/contract.h"

namespace metafuse::service {
namespace {

std::string hex(const unsigned char* bytes, std::size_t count) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(count * 2);
  for (std::size_t i = 0; i < count; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

}  // namespace

std::string sha256_hex(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const int done = EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr);
  require(done == 1, "SHA-256 is always there");
  return hex(digest, size);
}

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const auto* done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                          reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
  require(done != nullptr, "HMAC is always there");
  return hex(digest, size);
}

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> buffer(bytes);
  require(RAND_bytes(buffer.data(), static_cast<int>(bytes)) == 1, "the system has random bytes");
  return hex(buffer.data(), bytes);
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace metafuse::service
