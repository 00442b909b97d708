#pragma once

#include <array>
#include <span>
#include <string_view>

namespace metafuse::fetchers {

/// How one language writes dates, in lower case and without punctuation. Alternatives have a | between them
/// where they may consist of several words, else a blank.
struct DateWords {
  std::string_view language;                ///< ISO 639-1
  std::string_view frames;                  ///< around "3 hours": "* ago"; the time stands at the *
  std::string_view one;                     ///< words for the number one: "a an one"
  std::array<std::string_view, 7> units;    ///< second, minute, hour, day, week, month, year
  std::array<std::string_view, 4> moments;  ///< now, today, yesterday, the day before yesterday
  std::string_view months;                  ///< January to December, with | between the months
};

/// The languages in which engines and pages write dates.
std::span<const DateWords> date_words();

}  // namespace metafuse::fetchers
