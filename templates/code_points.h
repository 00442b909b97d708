#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace metafuse::templates {

/// The character at byte `at`, which moves behind it. Requires valid UTF-8 and at < text.size().
char32_t next_code_point(std::string_view text, std::size_t& at);

void append_code_point(std::string& out, char32_t c);

/// The small letter of a capital: Latin, Greek, Cyrillic and Armenian; others stay. The same on every
/// machine, whatever its locale.
char32_t to_lower(char32_t c);

}  // namespace metafuse::templates
