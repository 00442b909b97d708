#include "service/base/digest.h"

#include <array>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <unistd.h>

#include "core/contract.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kRandomBytes = 1024;

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

std::uint64_t digest_seed(std::string_view text) {
  return std::stoull(sha256_hex(text).substr(0, 16), nullptr, 16);
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
  // Bytes are drawn in blocks, because one draw costs as much as drawing a thousand bytes.
  thread_local std::array<unsigned char, kRandomBytes> pool{};
  thread_local std::size_t used = kRandomBytes;
  thread_local pid_t owner = 0;  // a forked process must not hand out the same bytes as its parent
  require(bytes <= kRandomBytes, "an identifier is short");
  if (used + bytes > kRandomBytes || owner != ::getpid()) {
    require(RAND_bytes(pool.data(), static_cast<int>(kRandomBytes)) == 1, "the system has random bytes");
    used = 0;
    owner = ::getpid();
  }
  std::string out = hex(pool.data() + used, bytes);
  OPENSSL_cleanse(pool.data() + used, bytes);
  used += bytes;
  return out;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace metafuse::service
