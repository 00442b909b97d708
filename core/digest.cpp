#include "core/digest.h"

#include <array>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <unistd.h>

#include "core/contract.h"
#include "core/encoding.h"

namespace metafuse {
namespace {

constexpr std::size_t kRandomBytes = 1024;

const EVP_MD* method_of(HashMethod method) {
  if (method == HashMethod::sha1) return EVP_sha1();
  return method == HashMethod::sha512 ? EVP_sha512() : EVP_sha256();
}

}  // namespace

std::string sha256(std::string_view text) {
  std::array<char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const int done = EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()),
                              &size, EVP_sha256(), nullptr);
  require(done == 1, "SHA-256 is always there");
  return {digest.data(), size};
}

std::string hmac(HashMethod method, std::string_view key, std::string_view text) {
  std::array<char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const auto* done = HMAC(method_of(method), key.data(), static_cast<int>(key.size()),
                          reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                          reinterpret_cast<unsigned char*>(digest.data()), &size);
  require(done != nullptr, "HMAC is always there");
  return {digest.data(), size};
}

std::string sha256_hex(std::string_view text) {
  return hex_encoded(sha256(text));
}

std::uint64_t digest_seed(std::string_view text) {
  return std::stoull(sha256_hex(text).substr(0, 16), nullptr, 16);
}

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
  return hex_encoded(hmac(HashMethod::sha256, key, text));
}

std::string random_hex(std::size_t bytes) {
  // Bytes are drawn in blocks, because one draw costs as much as drawing a thousand bytes.
  thread_local std::array<char, kRandomBytes> pool{};
  thread_local std::size_t used = kRandomBytes;
  thread_local pid_t owner = 0;  // a forked process must not hand out the same bytes as its parent
  require(bytes <= kRandomBytes, "an identifier is short");
  if (used + bytes > kRandomBytes || owner != ::getpid()) {
    require(RAND_bytes(reinterpret_cast<unsigned char*>(pool.data()), static_cast<int>(kRandomBytes)) == 1,
            "the system has random bytes");
    used = 0;
    owner = ::getpid();
  }
  std::string out = hex_encoded({pool.data() + used, bytes});
  OPENSSL_cleanse(pool.data() + used, bytes);
  used += bytes;
  return out;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace metafuse
