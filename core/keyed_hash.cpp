#include "core/keyed_hash.h"

#include <array>
#include <cstring>

#include <sodium/crypto_shorthash.h>
#include <sodium/randombytes.h>

namespace metafuse {
namespace {

using Key = std::array<unsigned char, crypto_shorthash_KEYBYTES>;

const Key& process_key() {
  static const Key kKey = [] {
    Key key;
    randombytes_buf(key.data(), key.size());
    return key;
  }();
  return kKey;
}

}  // namespace

std::size_t KeyedHash::operator()(std::string_view bytes) const noexcept {
  std::uint64_t out = 0;
  static_assert(sizeof out == crypto_shorthash_BYTES);
  crypto_shorthash(reinterpret_cast<unsigned char*>(&out),
                   reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), process_key().data());
  return out;
}

HashSecret hash_secret() {
  return {KeyedHash{}("first") | 1, KeyedHash{}("second") | 1, KeyedHash{}("third") | 1};
}

}  // namespace metafuse
