#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace metafuse {

/// Base64 as in RFC 4648, with padding.
std::string base64_encoded(std::string_view bytes);
/// The decoded bytes; nullopt when the text is not padded base64.
std::optional<std::string> base64_decoded(std::string_view text);

/// Two lower-case hexadecimal digits for each byte.
std::string hex_encoded(std::string_view bytes);

/// Percent-encodes "a b&c" as "a%20b%26c", or as "a+b%26c" when blanks become plus signs (the query part of
/// a URL).
std::string percent_encoded(std::string_view text, bool has_plus_for_blank = false);

/// Decodes "a%20b" to "a b". A % that two hexadecimal digits do not follow is kept.
std::string percent_decoded(std::string_view text);

/// Escapes a text for XML and HTML, between tags and inside attributes: special characters become entities,
/// and characters that XML does not allow are dropped.
std::string xml_escaped(std::string_view text);

/// A cell of a CSV file, quoted where necessary. A cell that begins like a formula gets an apostrophe in
/// front, so that a spreadsheet shows it instead of evaluating it (OWASP, CSV injection).
std::string csv_cell(std::string text);

}  // namespace metafuse
