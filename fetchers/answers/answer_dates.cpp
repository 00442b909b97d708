// Dates are read in three ways, one after the other: as numbers; as a time that has passed ("3 hours ago",
// "yesterday"); with the name of a month. For the last two, a text is first brought into one form: lower
// case, one blank between words, numbers apart from words, no punctuation but the colons of a time.

#include "fetchers/answers/answer_dates.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <map>
#include <optional>
#include <vector>

#include <curl/curl.h>
#include <fmt/format.h>
#include <unicode/uchar.h>

#include "core/number.h"
#include "core/text.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/date_words.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxDateBytes = 100;

/// Removes the digits at the beginning of a text, at most `most`, and returns them.
std::string_view take_digits(std::string_view& text, std::size_t most) {
  const std::size_t end = std::min({text.find_first_not_of("0123456789"), text.size(), most});
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

/// The value of one to four digits; -1 for anything else.
int small_number(std::string_view digits) {
  if (digits.empty() || digits.size() > 4) return -1;
  int value = 0;
  for (const char c : digits) {
    if (!is_ascii_digit(c)) return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

bool is_year(std::string_view text) {
  return small_number(text) >= 1000;
}

/// "2016-03-09"; empty if the calendar has no such day.
std::string calendar_day(int year, int month, int day) {
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  return date.ok() ? fmt::format("{:04}-{:02}-{:02}", year, month, day) : std::string();
}

std::string calendar_month(int year, int month) {
  return month >= 1 && month <= 12 ? fmt::format("{:04}-{:02}", year, month) : std::string();
}

/// A moment in a form of strftime().
std::string formatted(std::int64_t at, const char* form) {
  const auto moment = static_cast<std::time_t>(at);
  std::tm parts{};
  if (at < 0 || gmtime_r(&moment, &parts) == nullptr) return {};
  std::array<char, 32> out{};
  return {out.data(), std::strftime(out.data(), out.size(), form, &parts)};
}

constexpr const char* kMoment = "%Y-%m-%dT%H:%M:%SZ";
constexpr const char* kDay = "%Y-%m-%d";

/// False if a time such as "25:00" cannot be one.
bool may_be_time(int hours, int minutes, int seconds) {
  const bool is_midnight = hours == 24 && minutes == 0 && seconds == 0;
  return is_midnight ||
         (hours >= 0 && hours < 24 && minutes >= 0 && minutes < 60 && seconds >= 0 && seconds <= 60);
}

// Dates in numbers.

/// What follows the day in ISO 8601, kept as it is written; empty when nothing does, and nullopt when it is a
/// time that no clock shows.
std::optional<std::string> iso_time(std::string_view text) {
  if (text.size() < 3 || std::string_view("Tt ").find(text.front()) == std::string_view::npos) return "";
  std::string_view rest = text.substr(1);
  const std::string_view hours = take_digits(rest, 2);
  if (hours.size() != 2 || (text.front() == ' ' && !rest.starts_with(':'))) return "";
  std::array<int, 2> parts{0, 0};
  for (int& part : parts) {
    if (rest.starts_with(':')) rest.remove_prefix(1);
    if (const std::string_view digits = take_digits(rest, 2); !digits.empty()) part = small_number(digits);
  }
  if (!may_be_time(small_number(hours), parts[0], parts[1])) return std::nullopt;
  std::string out(text.substr(0, text.find_first_not_of("0123456789-+:.TtZz ")));
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

/// Reads "2016", "2016-3", "2016/03/09", "2016. 3. 9.", "2016-03-09T...": as many of year, month and day as
/// there are. nullopt if the text is something else, empty if it is such a date but wrong.
std::optional<std::string> year_first_date(std::string_view text) {
  const std::string_view year = take_digits(text, 5);
  if (!is_year(year)) return std::nullopt;
  std::vector<int> parts{small_number(year)};
  while (parts.size() < 3 && !text.empty()) {
    if (text.front() != '-' && text.front() != '/' && text.front() != '.') return std::nullopt;
    text.remove_prefix(text.starts_with(". ") ? 2 : 1);
    const std::string_view digits = take_digits(text, 3);
    if (digits.empty() || digits.size() > 2) return std::nullopt;
    if (small_number(digits) == 0) break;  // unknown
    parts.push_back(small_number(digits));
  }
  if (parts.size() == 1) return std::string(year);
  if (parts.size() == 2) return calendar_month(parts[0], parts[1]);
  const auto time = iso_time(text);
  std::string day = calendar_day(parts[0], parts[1], parts[2]);
  if (!time || day.empty()) return "";
  return (day + *time).substr(0, 40);
}

/// Reads "20160309" and "20160309T101500Z", with or without the T.
std::optional<std::string> packed_date(std::string_view text) {
  const std::string_view digits = take_digits(text, 8);
  if (digits.size() != 8 || digits[0] > '2' || digits[0] < '1') return std::nullopt;
  const std::string day = calendar_day(small_number(digits.substr(0, 4)), small_number(digits.substr(4, 2)),
                                       small_number(digits.substr(6)));
  if (day.empty()) return std::nullopt;
  if (text.empty()) return day;
  if (text.starts_with('T')) text.remove_prefix(1);
  const std::string_view time = take_digits(text, 7);
  if (time.size() != 6 || time >= "240000" || (!text.empty() && text != "Z")) return std::nullopt;
  if (!may_be_time(small_number(time.substr(0, 2)), small_number(time.substr(2, 2)),
                   small_number(time.substr(4))))
    return std::nullopt;
  return fmt::format("{}T{}:{}:{}{}", day, time.substr(0, 2), time.substr(2, 2), time.substr(4), text);
}

/// Interprets a number as seconds, milli-, micro- or nanoseconds since 1970, by its size.
std::optional<std::string> counted_date(std::string_view text) {
  double number = 0;
  if (!to_double(text, number)) return std::nullopt;
  for (const double unit : {1.0, 1e3, 1e6, 1e9})
    if (number >= 1e8 * unit && number < 4e10 * unit)
      return formatted(static_cast<std::int64_t>(number / unit), kMoment);
  return "";
}

// Dates in words.

/// The text in the form that this file's head describes.
std::string in_plain_words(std::string_view text) {
  enum class Sort { blank, digit, word } before = Sort::blank;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    const auto code = static_cast<UChar32>(c);
    const bool is_colon = c == ':' && before == Sort::digit && at < text.size() && is_ascii_digit(text[at]);
    const Sort sort = (c >= '0' && c <= '9') || is_colon         ? Sort::digit
                      : u_isUWhiteSpace(code) || u_ispunct(code) ? Sort::blank
                                                                 : Sort::word;
    if (sort != before && !out.empty() && out.back() != ' ') out += ' ';
    if (sort != Sort::blank) append_code_point(out, static_cast<char32_t>(u_tolower(code)));
    before = sort;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty())
    if (const std::string_view word = take_until(text, ' '); !word.empty()) words.push_back(word);
  return words;
}

bool is_one_of(std::string_view word, std::string_view list) {
  while (!list.empty())
    if (take_until(list, ' ') == word) return true;
  return false;
}

/// Between the parts of a date in the languages that are known, and after its numbers.
constexpr std::string_view kFillers =
    "de del di do den der the of on le el em på st nd rd th er г р год года року rok roku r a las la los o "
    "alle "
    "at à um om kl klo klokken в о об godz saat ore uhr h";
/// Words by which a duration is rough, or which join its parts.
constexpr std::string_view kRoughly =
    "about over almost around few less than more and und et y e i en och og и і ca circa ungefähr etwa fast "
    "environ "
    "unos unas cerca około około примерно 约 約 약 大约";

/// Takes a time of the day from the front of `words`. Empty if none stands there; nullopt if it is one that
/// no clock shows.
std::optional<std::string> take_time(std::span<const std::string_view>& words) {
  const auto skip = [&] {
    while (!words.empty() && is_one_of(words.front(), kFillers)) words = words.subspan(1);
  };
  skip();
  if (words.empty() || words.front().find(':') == std::string_view::npos) return "";
  std::string_view text = words.front();
  words = words.subspan(1);
  std::array<int, 3> parts{-1, -1, 0};
  for (std::size_t i = 0; i < parts.size() && !text.empty(); ++i)
    parts[i] = small_number(take_until(text, ':'));
  const auto is_next = [&](std::string_view one, std::string_view two) {
    const bool is_split =
        words.size() > 1 && words[0].size() == 1 && words[1] == "m" && words[0][0] == one[0];
    if (!is_split && (words.empty() || (words[0] != one && words[0] != two))) return false;
    words = words.subspan(is_split ? 2 : 1);
    return true;
  };
  if (is_next("pm", "nachm") && parts[0] < 12) parts[0] += 12;
  if (is_next("am", "vorm") && parts[0] == 12) parts[0] = 0;
  skip();
  if (!text.empty() || !may_be_time(parts[0], parts[1], parts[2])) return std::nullopt;
  return fmt::format("T{:02}:{:02}:{:02}", parts[0], parts[1], parts[2]);
}

/// Reads "03.02.2025" and "03/02/2025 14:05". Where points separate them, the day comes first; with other
/// separators the order is known only if one of the numbers is no month.
std::optional<std::string> year_last_date(std::string_view text) {
  const std::string_view first = take_digits(text, 2);
  const char separator = text.empty() ? ' ' : text.front();
  if (first.empty() || (separator != '.' && separator != '/' && separator != '-')) return std::nullopt;
  text.remove_prefix(text.starts_with(". ") ? 2 : 1);
  const std::string_view second = take_digits(text, 2);
  if (second.empty() || !text.starts_with(separator)) return std::nullopt;
  text.remove_prefix(text.starts_with(". ") ? 2 : 1);
  const std::string_view year_digits = take_digits(text, 5);
  if (!is_year(year_digits)) return std::nullopt;
  int day = small_number(first), month = small_number(second);
  const int year = small_number(year_digits);
  if (separator != '.' && day <= 12 && month <= 12 && day != month) return std::string(year_digits);
  if (separator != '.' && month > 12) std::swap(day, month);
  const std::string plain = in_plain_words(text);
  const auto words = words_of(plain);
  std::span<const std::string_view> rest = words;
  const auto time = take_time(rest);
  std::string out = calendar_day(year, month, day);
  return out.empty() || !time ? "" : out + *time;
}

// Times that have passed.

constexpr std::array<std::int64_t, 5> kSeconds = {1, 60, 3600, 86400, 7 * 86400};
constexpr std::size_t kFirstOfDays = 3, kMonth = 5, kYear = 6;
constexpr std::int64_t kSecondsPerDay = 86400;

/// "3 hours" in the words of one language: how many of which units.
struct Duration {
  std::array<int, 7> counts{};
  std::size_t smallest = 0;  ///< of the units that are named, as in DateWords::units
};

std::optional<Duration> read_duration(const DateWords& language, std::string_view text) {
  Duration out;
  int count = -1;
  bool has_unit = false;
  for (const std::string_view word : words_of(text)) {
    if (is_one_of(word, language.one) && count < 0) {
      count = 1;
      continue;
    }
    if (const int number = small_number(word); number >= 0) {
      if (count >= 0) return std::nullopt;
      count = number;
      continue;
    }
    const auto unit = std::find_if(language.units.begin(), language.units.end(),
                                   [&](std::string_view names) { return is_one_of(word, names); });
    if (unit == language.units.end()) {
      if (!is_one_of(word, kRoughly)) return std::nullopt;
      continue;
    }
    if (count < 0 && word.size() == 1) return std::nullopt;
    out.smallest = static_cast<std::size_t>(unit - language.units.begin());
    out.counts[out.smallest] = count < 0 ? 1 : count;
    count = -1;
    has_unit = true;
  }
  return has_unit && count < 0 ? std::optional(out) : std::nullopt;
}

/// The date a duration before `now`, as precise as its smallest unit.
std::string date_before(const Duration& ago, std::int64_t now) {
  for (std::size_t i = 0; i < kSeconds.size(); ++i) now -= ago.counts[i] * kSeconds[i];
  if (ago.smallest < kFirstOfDays) return formatted(now, kMoment);
  const std::chrono::year_month_day day{
      std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(std::chrono::seconds(now)))};
  auto date = day - std::chrono::months(ago.counts[kMonth]) - std::chrono::years(ago.counts[kYear]);
  if (!date.ok()) date = date.year() / date.month() / std::chrono::last;  // such as 31 September
  const int year = static_cast<int>(date.year());
  const auto month = static_cast<unsigned>(date.month());
  if (year < 1000) return {};
  if (ago.smallest == kYear) return fmt::format("{:04}", year);
  if (ago.smallest == kMonth) return fmt::format("{:04}-{:02}", year, month);
  return fmt::format("{:04}-{:02}-{:02}", year, month, static_cast<unsigned>(date.day()));
}

/// What stands in the frame: "3 hours" of "3 hours ago" in "* ago".
std::optional<std::string_view> framed(std::string_view text, std::string_view frame) {
  const std::size_t star = frame.find('*');
  const std::string_view before = frame.substr(0, star), after = frame.substr(star + 1);
  if (text.size() <= before.size() + after.size() || !text.starts_with(before) || !text.ends_with(after))
    return std::nullopt;
  return ascii_trimmed(text.substr(before.size(), text.size() - before.size() - after.size()));
}

/// "yesterday" and "yesterday at 10:15", which name a day in the place where the page was written.
std::string named_moment(const DateWords& language, std::string_view text, std::int64_t now) {
  for (std::size_t i = 0; i < language.moments.size(); ++i)
    for (std::string_view names = language.moments[i]; !names.empty();) {
      const std::string_view name = take_until(names, '|');
      if (!text.starts_with(name)) continue;
      if (i == 0 && text == name) return formatted(now, kMoment);
      const auto words = words_of(text.substr(name.size()));
      std::span<const std::string_view> rest = words;
      const auto time = take_time(rest);
      if (i == 0 || !rest.empty() || !time) continue;
      return formatted(now - static_cast<std::int64_t>(i - 1) * kSecondsPerDay, kDay) + *time;
    }
  return {};
}

std::string passed_date(std::string_view plain, std::int64_t now) {
  for (const DateWords& language : date_words()) {
    for (std::string_view frames = language.frames; !frames.empty();)
      if (const auto inner = framed(plain, take_until(frames, '|')))
        if (const auto ago = read_duration(language, *inner)) return date_before(*ago, now);
    if (std::string out = named_moment(language, plain, now); !out.empty()) return out;
  }
  return {};
}

// Names of months.

/// The month that a word names in any of the languages, which agree about the words that they share; 0 if it
/// names none.
int month_named(std::string_view word) {
  static const std::map<std::string_view, int> months = [] {
    std::map<std::string_view, int> out;
    for (const DateWords& language : date_words()) {
      int month = 0;
      for (std::string_view rest = language.months; !rest.empty();) {
        ++month;
        for (std::string_view names = take_until(rest, '|'); !names.empty();)
          out.emplace(take_until(names, ' '), month);
      }
    }
    return out;
  }();
  const auto at = months.find(word);
  return at == months.end() ? 0 : at->second;
}

/// Year, month and day as far as they are known.
struct NamedDay {
  int year = 0, month = 0, day = 0;

  bool is_empty() const { return year == 0 && month == 0 && day == 0; }
  bool is_full() const { return year > 0 && month > 0 && day > 0; }
  std::string text() const { return day > 0 ? calendar_day(year, month, day) : calendar_month(year, month); }
};

/// Takes a date from the front of `words`, behind at most two others: weekdays, or "Published". False if they
/// cannot belong to one.
bool take_named_day(std::span<const std::string_view>& words, NamedDay& out) {
  int others = 0;
  for (; !words.empty() && !out.is_full(); words = words.subspan(1)) {
    const std::string_view word = words.front();
    const std::string_view next = words.size() > 1 ? words[1] : std::string_view();
    const int number = small_number(word);
    if (is_one_of(word, "年 년 月 월") || is_one_of(word, kFillers)) continue;
    if (word.find(':') != std::string_view::npos) break;
    if (number >= 0 && is_one_of(next, "月 월") && out.month == 0)
      out.month = number;
    else if (is_year(word) && out.year == 0)
      out.year = number;
    else if (number > 0 && word.size() <= 2 && out.day == 0)
      out.day = number;
    else if (const int month = month_named(word); month > 0 && out.month == 0)
      out.month = month;
    else if (!out.is_empty() || number >= 0 || ++others > 2)
      return false;
  }
  return out.year > 0 && out.month > 0 && (others == 0 || out.is_full());
}

struct NamedDate {
  std::string text;       ///< empty: a day or time that does not exist
  bool has_more = false;  ///< the text goes on: a time zone, a weekday, a dash and a sentence
};

/// Reads "March 9, 2016", "Wed, 9 Mar 2016 10:00", "9 de marzo de 2016", "2016年3月9日", "Mar 2016".
std::optional<NamedDate> named_date(std::string_view plain) {
  const auto words = words_of(plain);
  std::span<const std::string_view> rest = words;
  NamedDay day;
  if (words.size() < 2 || !take_named_day(rest, day)) return std::nullopt;
  const std::string text = day.text();
  if (!rest.empty() && is_one_of(rest.front(), "日 号 號 일")) rest = rest.subspan(1);
  const auto time = take_time(rest);
  if (text.empty() || !time) return NamedDate{};
  if (!day.is_full() && !rest.empty()) return std::nullopt;
  return NamedDate{day.is_full() ? text + *time : text, !rest.empty()};
}

/// Turns "March 9, 2016" into "Mar 9  2016", which curl_getdate() can read.
std::string with_short_months(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_ascii_letter(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    out += word.size() > 3 && month_named(ascii_lower(word)) > 0 ? word.substr(0, 3) : word;
    if (end < text.size()) out += text[end] == ',' ? ' ' : text[end];
    at = end + 1;
  }
  return out;
}

/// Dates of HTTP and mail, with their time zones.
std::string http_date(std::string_view text) {
  const bool is_day = text.find(':') == std::string_view::npos;  // and not midnight of that day
  return formatted(curl_getdate(with_short_months(text).c_str(), nullptr), is_day ? kDay : kMoment);
}

}  // namespace

std::string clean_date(std::string_view given, std::int64_t now) {
  const std::string text = clean_text(given.substr(0, kMaxDateBytes), false, kMaxDateBytes);
  for (const auto read : {year_first_date, packed_date, counted_date, year_last_date})
    if (const auto date = read(text)) return *date;
  const std::string plain = in_plain_words(text);
  if (now > 0)
    if (std::string date = passed_date(plain, now); !date.empty()) return date;
  const auto named = named_date(plain);
  // a zone beside a day alone does not move the day
  if (named && (!named->has_more || text.find(':') == std::string::npos)) return named->text;
  std::string date = http_date(text);
  return date.empty() && named ? named->text : date;
}

}  // namespace metafuse::fetchers
