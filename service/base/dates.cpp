#include "service/base/dates.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>

#include "core/number.h"

namespace metafuse::service {
namespace {

/// The number that two digits at `at` form; nothing if they are missing or more than `most`.
std::optional<std::int64_t> two_digits(std::string_view text, std::size_t at, std::int64_t most) {
  std::int64_t value = 0;
  if (at + 2 > text.size() || text[at] < '0' || text[at] > '9' || !to_integer(text.substr(at, 2), value) ||
      value > most)
    return std::nullopt;
  return value;
}

/// Seconds to add for "+05:30" or "-0800"; 0 for "Z", empty text and anything that is no zone.
std::int64_t zone_offset(std::string_view zone) {
  if (zone.empty() || (zone.front() != '+' && zone.front() != '-')) return 0;
  const auto hours = two_digits(zone, 1, 23);
  const auto minutes = two_digits(zone, zone.size() > 3 && zone[3] == ':' ? 4 : 3, 59);
  const std::int64_t offset = hours.value_or(0) * kSecondsPerHour + minutes.value_or(0) * kSecondsPerMinute;
  return zone.front() == '+' ? -offset : offset;
}

/// Seconds since midnight, UTC, of texts like "T12:30:00.5+02:00".
std::int64_t time_of_day(std::string_view text) {
  if (text.empty() || (text.front() != 'T' && text.front() != 't' && text.front() != ' ')) return 0;
  const auto hours = two_digits(text, 1, 23);
  const auto minutes = two_digits(text, 4, 59);
  if (!hours || !minutes || text[3] != ':') return 0;
  const auto seconds = text.substr(6, 1) == ":" ? two_digits(text, 7, 59) : std::nullopt;
  const std::size_t zone = text.find_first_of("+-", 6);
  return *hours * kSecondsPerHour + *minutes * kSecondsPerMinute + seconds.value_or(0) +
         (zone == std::string_view::npos ? 0 : zone_offset(text.substr(zone)));
}

std::tm parts_of(std::int64_t at) {
  const auto seconds = static_cast<std::time_t>(at);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return parts;
}

/// in: format - strftime's, without names of days or months, which depend on the locale
std::string formatted(std::int64_t at, const char* format) {
  const std::tm parts = parts_of(at);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

std::optional<std::int64_t> moment_of(std::string_view iso) {
  std::int64_t year = 0;
  const auto month = two_digits(iso, 5, 12);
  const auto day = two_digits(iso, 8, 31);
  if (!month || !day || iso[4] != '-' || iso[7] != '-' || iso.front() < '0' || iso.front() > '9' ||
      !to_integer(iso.substr(0, 4), year))
    return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * kSecondsPerDay + time_of_day(iso.substr(10));
}

std::string iso_day(std::int64_t at) {
  return formatted(at, "%Y-%m-%d");
}

std::string utc_text(std::int64_t at) {
  return formatted(at, "%Y-%m-%d %H:%M UTC");
}

std::string rfc822_text(std::int64_t at) {
  static constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::tm parts = parts_of(at);
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d +0000",
                kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900, parts.tm_hour,
                parts.tm_min, parts.tm_sec);
  return text.data();
}

}  // namespace metafuse::service
