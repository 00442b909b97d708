#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace metafuse::fetchers {

/// Text of an engine as it may be shown: valid UTF-8 in one line, without control characters, marks that turn
/// the writing direction, and markup.
///
/// in:  is_html - every tag is markup and entities are decoded; else only the tags that engines put
///      around the words they found (<b>, <em>, <mark>, ...) are, and entities are decoded only where
///      such a tag stands
std::string clean_text(std::string_view text, bool is_html, std::size_t max_bytes);

/// A date or date-time as ISO 8601, as exactly as the text says it ("2016", "2016-03", "2016-03-09"): ISO
/// text as it is; "2016/3/9", "2016 Mar", "20160309T101500Z", RFC 822 dates, "March 9, 2016" and seconds,
/// milli-, micro- or nanoseconds since 1970 converted; else empty.
std::string clean_date(std::string_view text);

/// A number as APIs write it in texts: "12.5", "1,234,567", "87 %" (0.87). False for anything else.
bool clean_number(std::string_view text, double& value);

/// The charset of "text/html; charset=utf-8", in small letters, or empty.
std::string charset_of(std::string_view content_type);

/// The text as UTF-8, when it is not UTF-8 already and the charset is known; nothing else is guessed.
///
/// in:  charset - as in Content-Type or an XML declaration, in small letters
/// out: nothing when the text is UTF-8 or the charset is unknown; bytes that the charset does not have become
///      U+FFFD
std::optional<std::string> as_utf8(std::string_view text, const std::string& charset);

}  // namespace metafuse::fetchers
