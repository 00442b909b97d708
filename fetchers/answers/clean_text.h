#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace metafuse::fetchers {

/// Text of an engine as it may be shown: valid UTF-8 in one line, without control characters, marks that turn
/// the writing direction, and markup.
///
/// in:  is_html - every tag is markup and entities are decoded; else only the tags that engines put around
/// the
///      words they found (<b>, <em>, <mark>, ...) are, and entities are decoded only where such a tag stands
std::string clean_text(std::string_view text, bool is_html, std::size_t max_bytes);

/// A date or date-time as ISO 8601: ISO text as it is, RFC 822 dates and seconds since 1970 converted, else
/// empty.
std::string clean_date(std::string_view text);

}  // namespace metafuse::fetchers
