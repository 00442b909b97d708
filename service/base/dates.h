#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/deadline.h"

namespace metafuse::service {

inline constexpr std::int64_t kSecondsPerMinute = 60;
inline constexpr std::int64_t kSecondsPerHour = 3600;
inline constexpr std::int64_t kSecondsPerDay = 86400;

inline Duration duration_of(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

/// The moment of an ISO 8601 date or date-time, as engines give them; without a zone it is UTC.
///
/// out: nothing for a date that does not exist; a time of day that cannot be read counts as midnight
std::optional<std::int64_t> moment_of(std::string_view iso);

/// "2025-01-31" of a moment, in UTC.
std::string iso_day(std::int64_t at);

/// "2025-01-31 13:05 UTC".
std::string utc_text(std::int64_t at);

/// A moment in RFC 822's format, which RSS requires.
std::string rfc822_text(std::int64_t at);

}  // namespace metafuse::service
