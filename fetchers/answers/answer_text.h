#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace metafuse::fetchers {

// How much of a result's texts is kept.
inline constexpr std::size_t kMaxTitleBytes = 500;
inline constexpr std::size_t kMaxSnippetBytes = 2000;

/// Makes an engine's text safe to show: one line of valid UTF-8 without control characters, bidirectional
/// control marks or markup.
///
/// in:     is_html - every tag is markup, and entities are decoded. Otherwise only the tags that engines put
///         around matching words (<b>, <em>, <mark>, ...) are removed, and entities are decoded only if such
///         a tag occurs.
std::string clean_text(std::string_view text, bool is_html, std::size_t max_bytes);

/// How much of what an engine says an error repeats: more than is shown, because secrets must be hidden in it
/// before one can be cut off.
inline constexpr std::size_t kMostReportedBytes = 4096;

/// A number as APIs write them in texts: "12.5", "1,234,567", "87 %" (read as 0.87). False for anything else.
bool clean_number(std::string_view text, double& value);

/// The charset of "text/html; charset=utf-8", in lower case; empty if there is none.
std::string charset_of(std::string_view content_type);

/// Converts a text of a known charset to UTF-8. Nothing is guessed.
///
/// in:     charset - as in Content-Type or an XML declaration, in lower case
/// out:    nullopt when the text is already UTF-8 or the charset is unknown. Bytes that are invalid in the
///         charset become U+FFFD.
std::optional<std::string> as_utf8(std::string_view text, const std::string& charset);

/// As as_utf8(), and bytes become U+FFFD that are neither converted nor valid UTF-8.
///
/// out:    nullopt when the text is already UTF-8
std::optional<std::string> as_valid_utf8(std::string_view text, const std::string& charset);

/// The text as valid UTF-8, with blanks for characters that act on a terminal or on the direction of other
/// text: controls except tabs and line ends, and marks that embed, override or isolate.
std::string without_controls(std::string_view text);

/// As without_controls(), in one line: tabs and line ends become blanks, too.
std::string printable(std::string_view text);

/// A file's text as UTF-8 without its byte order mark, which may say that it is UTF-16. Other bytes that are
/// not UTF-8 become U+FFFD.
std::string decoded_text(std::string_view bytes);

/// The name of an XML element without its namespace prefix.
std::string_view without_prefix(std::string_view name);

}  // namespace metafuse::fetchers
