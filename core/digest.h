#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace metafuse {

enum class HashMethod { sha1, sha256, sha512 };

/// SHA-256, 32 bytes.
std::string sha256(std::string_view text);

/// The keyed hash of RFC 2104, as bytes.
std::string hmac(HashMethod method, std::string_view key, std::string_view text);

/// SHA-256 as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view text);

/// The first 64 bits of a text's SHA-256, as a seed.
std::uint64_t digest_seed(std::string_view text);

/// HMAC-SHA-256 as hexadecimal digits.
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

/// Bytes from the system's random source, as hexadecimal digits. At most 1024 bytes.
std::string random_hex(std::size_t bytes);

/// Compares two texts in a time that depends only on their lengths.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace metafuse
