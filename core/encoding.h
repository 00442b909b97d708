#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace metafuse {

/// RFC 4648's base64, with padding.
std::string base64_encoded(std::string_view bytes);
/// Nothing for what is no base64 with padding.
std::optional<std::string> base64_decoded(std::string_view text);

/// "a b&c" as "a%20b%26c", or "a+b%26c" where blanks become plus signs (the query part of a URL).
std::string percent_encoded(std::string_view text, bool has_plus_for_blank = false);

/// "a%20b" as "a b"; a % without two hexadecimal digits behind it stays.
std::string percent_decoded(std::string_view text);

/// Text as it may stand in XML and HTML, between tags and in attributes: characters with a meaning as
/// entities, those that XML cannot hold left out.
std::string xml_escaped(std::string_view text);

/// A cell of a CSV file, in quotes where it must be. One that begins like a formula is preceded by an
/// apostrophe, so that a spreadsheet shows it (OWASP, CSV injection).
std::string csv_cell(std::string text);

}  // namespace metafuse
