#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace metafuse::fetchers {

/// A date or date-time in ISO 8601, as precise as the text: "2016", "2016-03", "2016-03-09", a moment.
///
/// Read are ISO 8601, RFC 822, "20160309T101500Z", seconds, milli-, micro- or nanoseconds since 1970,
/// "09.03.2016", "2016年3月9日", months in the languages of date_words() ("March 9, 2016", "9 mars 2016",
/// "Mar 2016"), and times that have passed ("3 hours ago", "vor 3 Stunden", "gestern"). Countries read
/// "03/09/2016" differently, so that only the year is kept.
///
/// in:     now - seconds since 1970 when the text was written; 0: unknown, and "3 hours ago" is no date
/// out:    empty for anything else, and for days that no calendar has
/// cost:   O(languages) for at most 100 bytes
std::string clean_date(std::string_view text, std::int64_t now = 0);

}  // namespace metafuse::fetchers
