#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace metafuse::fetchers {

/// The charset of "text/html; charset=utf-8", in small letters, or empty.
std::string charset_of(std::string_view content_type);

/// The text as UTF-8, when it is not UTF-8 already and the charset is known; nothing else is guessed.
///
/// in:  charset - as in Content-Type or an XML declaration, in small letters
/// out: nothing when the text is UTF-8 or the charset is unknown; bytes that the charset does not have become
///      U+FFFD
std::optional<std::string> as_utf8(std::string_view text, const std::string& charset);

}  // namespace metafuse::fetchers
