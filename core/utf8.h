#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace metafuse {

/// Offset of the first byte that is not part of well-formed UTF-8 (no surrogates, no overlong forms),
/// or npos.
std::size_t first_invalid_utf8(std::string_view text);

/// The text with every ill-formed byte sequence replaced by U+FFFD.
std::string to_valid_utf8(std::string_view text);

/// At most `max_bytes` bytes of the text, never cut inside a character.
std::string_view truncate_utf8(std::string_view text, std::size_t max_bytes);

/// Returns the character at byte `at` and moves `at` past it. Requires valid UTF-8 and at < text.size().
char32_t next_code_point(std::string_view text, std::size_t& at);

void append_code_point(std::string& out, char32_t c);

}  // namespace metafuse
