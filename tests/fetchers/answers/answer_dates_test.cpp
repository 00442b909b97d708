#include "fetchers/answers/answer_dates.h"

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/random.h"
#include "fetchers/answers/date_words.h"

using namespace metafuse::fetchers;

namespace {

constexpr std::int64_t kNow = 1'740'831'330;  ///< Saturday, 1 March 2025, 12:15:30

using DatePairs = std::vector<std::pair<std::string_view, std::string_view>>;

void check_dates(const DatePairs& pairs) {
  for (const auto& [text, date] : pairs) {
    INFO(text);
    CHECK(clean_date(text, kNow) == date);
  }
}

}  // namespace

TEST_CASE("Dates become ISO 8601 or nothing", "[fetchers][text]") {
  CHECK(clean_date("2022-02-24T15:05:19Z") == "2022-02-24T15:05:19Z");
  CHECK(clean_date("2014-12-01") == "2014-12-01");
  CHECK(clean_date("Tue, 10 Jun 2003 04:00:00 GMT") == "2003-06-10T04:00:00Z");
  CHECK(clean_date("1340805096") == "2012-06-27T13:51:36Z");
  CHECK(clean_date("1340805096000") == "2012-06-27T13:51:36Z");
  CHECK(clean_date("2014-12-01 12:00é, at noon, as the archive of the house has it") == "2014-12-01 12:00");
  CHECK(clean_date("yesterday") == "");
  CHECK(clean_date("") == "");
  CHECK(clean_date("99999999999999999999") == "");
  CHECK(clean_date("1340805096000000") == "2012-06-27T13:51:36Z");
  CHECK(clean_date("1512203112") == "2017-12-02T08:25:12Z");
  CHECK(clean_date("2016") == "2016");
  CHECK(clean_date("2016-3") == "2016-03");
  CHECK(clean_date("2016/3/9") == "2016-03-09");
  CHECK(clean_date("2016-12-14 02:46:44") == "2016-12-14 02:46:44");
  CHECK(clean_date("20160309") == "2016-03-09");
  CHECK(clean_date("20160309T101500Z") == "2016-03-09T10:15:00Z");
  CHECK(clean_date("20160309101500") == "2016-03-09T10:15:00");
  CHECK(clean_date("March 9, 2016") == "2016-03-09");
  CHECK(clean_date("9 Mar 2016") == "2016-03-09");
  CHECK(clean_date("2016 March") == "2016-03");
  CHECK(clean_date("2016 Mar 9") == "2016-03-09");
  CHECK(clean_date("2016 Spring") == "");
  CHECK(clean_date("2016-13-01") == "");
  CHECK(clean_date("2016-00-00") == "2016");
  CHECK(clean_date("1234567") == "");
}

TEST_CASE("A time that has passed is a date in the languages that engines write", "[fetchers][dates]") {
  check_dates({
      {"3 hours ago", "2025-03-01T09:15:30Z"},
      {"3h ago", "2025-03-01T09:15:30Z"},
      {"an hour ago", "2025-03-01T11:15:30Z"},
      {"About 2 hours ago", "2025-03-01T10:15:30Z"},
      {"1 day, 3 hours ago", "2025-02-28T09:15:30Z"},
      {"5 mins ago -", "2025-03-01T12:10:30Z"},
      {"3 days ago", "2025-02-26"},
      {"2 months 29 days ago", "2024-11-30"},
      {"2 weeks ago", "2025-02-15"},
      {"a month ago", "2025-02"},
      {"over 2 years ago", "2023"},
      {"vor 3 Stunden", "2025-03-01T09:15:30Z"},
      {"vor einem Tag", "2025-02-28"},
      {"vor 2 Monaten", "2025-01"},
      {"il y a 2 jours", "2025-02-27"},
      {"Il y a 1 an", "2024"},
      {"hace 5 d\u00edas", "2025-02-24"},
      {"hace una hora", "2025-03-01T11:15:30Z"},
      {"3 ore fa", "2025-03-01T09:15:30Z"},
      {"un\u2019ora fa", "2025-03-01T11:15:30Z"},
      {"h\u00e1 2 dias", "2025-02-27"},
      {"2 dias atr\u00e1s", "2025-02-27"},
      {"5 dagen geleden", "2025-02-24"},
      {"f\u00f6r 2 timmar sedan", "2025-03-01T10:15:30Z"},
      {"3 \u0447\u0430\u0441\u0430 \u043d\u0430\u0437\u0430\u0434", "2025-03-01T09:15:30Z"},
      {"\u0447\u0430\u0441 \u043d\u0430\u0437\u0430\u0434", "2025-03-01T11:15:30Z"},
      {"2 dni temu", "2025-02-27"},
      {"godzin\u0119 temu", "2025-03-01T11:15:30Z"},
      {"p\u0159ed 3 dny", "2025-02-26"},
      {"2 saat \u00f6nce", "2025-03-01T10:15:30Z"},
      {"3 \u5929\u524d", "2025-02-26"},
      {"3\u5c0f\u65f6\u524d", "2025-03-01T09:15:30Z"},
      {"2\u4e2a\u6708\u524d", "2025-01"},
      {"\u7d043\u6642\u9593\u524d", "2025-03-01T09:15:30Z"},
      {"3\uc77c \uc804", "2025-02-26"},
  });
}

TEST_CASE("Words for days and a time in them are dates", "[fetchers][dates]") {
  check_dates({
      {"now", "2025-03-01T12:15:30Z"},
      {"Today", "2025-03-01"},
      {"yesterday", "2025-02-28"},
      {"Yesterday at 3:05 PM", "2025-02-28T15:05:00"},
      {"gestern", "2025-02-28"},
      {"Gestern, 10:15 Uhr", "2025-02-28T10:15:00"},
      {"vorgestern", "2025-02-27"},
      {"hier", "2025-02-28"},
      {"hier \u00e0 10:15", "2025-02-28T10:15:00"},
      {"avant-hier", "2025-02-27"},
      {"aujourd\u2019hui", "2025-03-01"},
      {"ayer", "2025-02-28"},
      {"ieri", "2025-02-28"},
      {"ontem", "2025-02-28"},
      {"gisteren", "2025-02-28"},
      {"\u0432\u0447\u0435\u0440\u0430", "2025-02-28"},
      {"wczoraj", "2025-02-28"},
      {"\u6628\u5929 10:15", "2025-02-28T10:15:00"},
      {"\u6628\u65e5", "2025-02-28"},
      {"yesterday at 25:00", ""},
      {"yesterdays", ""},
      {"today's news", ""},
  });
}

TEST_CASE("Dates are read as countries write them", "[fetchers][dates]") {
  check_dates({
      {"03.02.2025", "2025-02-03"},
      {"3.2.2025 14:05", "2025-02-03T14:05:00"},
      {"25/12/2024", "2024-12-25"},
      {"12/25/2024, 3:00 PM", "2024-12-25T15:00:00"},
      {"03/02/2025", "2025"},  // March or February
      {"Mar 2023", "2023-03"},
      {"Oct 5, 2024, 3:00 PM", "2024-10-05T15:00:00"},
      {"Oct 5, 2024, 3:00\u202fp.m.", "2024-10-05T15:00:00"},
      {"Sept. 5th, 2024", "2024-09-05"},
      {"Published March 9, 1950", "1950-03-09"},
      {"3. Februar 2025", "2025-02-03"},
      {"Montag, 3. M\u00e4rz 2025, 08:00 Uhr", "2025-03-03T08:00:00"},
      {"lundi 3 f\u00e9vrier 2025", "2025-02-03"},
      {"3 de febrero de 2025", "2025-02-03"},
      {"3 febbraio 2025", "2025-02-03"},
      {"3 de mar\u00e7o de 2025", "2025-03-03"},
      {"3 \u0444\u0435\u0432\u0440\u0430\u043b\u044f 2025 \u0433.", "2025-02-03"},
      {"3 lutego 2025", "2025-02-03"},
      {"2025\u5e742\u67083\u65e5", "2025-02-03"},
      {"2025\u5e742\u67083\u65e5 10:15", "2025-02-03T10:15:00"},
      {"2025\u5e742\u6708", "2025-02"},
      {"2025\ub144 2\uc6d4 3\uc77c", "2025-02-03"},
      {"2025. 2. 3.", "2025-02-03"},
      {"3. 2. 2025", "2025-02-03"},
      {"segunda-feira, 3 de fevereiro de 2025", "2025-02-03"},
      {"2025\u5e742\u67083\u65e5\u661f\u671f\u4e00", "2025-02-03"},
      {"mandag den 3. februar 2025 kl. 01.01", "2025-02-03"},
      {"5 March 2016 \u2014 Otters in rivers", "2016-03-05"},
      {"Tue, 10 Jun 2003 04:00:00 +0200", "2003-06-10T02:00:00Z"},
      {"Tue Jun 10 04:00:00 2003", "2003-06-10T04:00:00Z"},
      {"9 Mar 2016 +0200", "2016-03-09"},
  });
}

TEST_CASE("Numbers at the limits of dates are read on one side and refused on the other",
          "[fetchers][dates]") {
  check_dates({
      {"1000", "1000"},
      {"0999", ""},
      {"12024", ""},
      {"2016-1", "2016-01"},
      {"2016-12", "2016-12"},
      {"2016-13", ""},
      {"2016-12-31", "2016-12-31"},
      {"2016-12-32", ""},
      {"2016-00-05", "2016"},
      {"2016-03-00", "2016-03"},
      {"2016-003-01", ""},
      {"2016-03-09T24:00:00Z", "2016-03-09T24:00:00Z"},
      {"2016-03-09T25:00:00Z", ""},
      {"2016-03-09T10:59:60Z", "2016-03-09T10:59:60Z"},
      {"2016-03-09T10:59:61Z", ""},
      {"2016-03-09T10:60:00Z", ""},
      {"2016-03-09T00:00", "2016-03-09T00:00"},
      {"2016-03-09 10", "2016-03-09"},  // a number behind the day, not an hour
      {"10000101", "1000-01-01"},
      {"19991231T235959", "1999-12-31T23:59:59"},
      {"19991231T240000", ""},
      {"19991231T235959Z", "1999-12-31T23:59:59Z"},
      {"20160309T106199Z", ""},
      {"20160309T105960Z", "2016-03-09T10:59:60Z"},
      {"2016-03-09T24:30:00Z", ""},
      {"2016-03-09T24:00:01Z", ""},
      {"19991231T235959X", ""},
      {"29991231", "2999-12-31"},
      {"30000101", ""},
      {"100000000", "1973-03-03T09:46:40Z"},
      {"99999999", ""},
      {"39999999999", "3237-07-19T23:06:39Z"},
      {"40000000000", ""},
      {"99999999999", ""},
      {"100000000000", "1973-03-03T09:46:40Z"},
      {"100000000000000", "1973-03-03T09:46:40Z"},
      {"100000000000000000", "1973-03-03T09:46:40Z"},
      {"13/12/2024", "2024-12-13"},
      {"12/13/2024", "2024-12-13"},
      {"12/12/2024", "2024-12-12"},
      {"12/11/2024", "2024"},
      {"13/13/2024", ""},
      {"12-25-2024", "2024-12-25"},
      {"11.12.2024", "2024-12-11"},
      {"12.13.2024", ""},
      {"Oct 5, 2024, 12:00 PM", "2024-10-05T12:00:00"},
      {"Oct 5, 2024, 12:00 AM", "2024-10-05T00:00:00"},
      {"Oct 5, 2024, 11:59 PM", "2024-10-05T23:59:00"},
      {"Oct 5, 2024, 11:59 AM", "2024-10-05T11:59:00"},
      {"Oct 5, 2024, 24:00", "2024-10-05T24:00:00"},
      {"0 days ago", "2025-03-01"},
      {"1 day ago", "2025-02-28"},
      {"31 days ago", "2025-01-29"},
      {"12 months ago", "2024-03"},
      {"14 months ago", "2024-01"},
      {"1 year, 2 months ago", "2024-01"},
      {"1025 years ago", "1000"},
      {"1026 years ago", ""},
      {"9999 hours ago", "2024-01-09T21:15:30Z"},
      {"10000 hours ago", ""},
  });
  CHECK(clean_date(std::string(97, ' ') + "2016", kNow) == "");  // only the first 100 bytes are read
  CHECK(clean_date(std::string(96, ' ') + "2016", kNow) == "2016");
}

TEST_CASE("A day or time that does not exist is no date", "[fetchers][dates]") {
  for (const char* none : {"2025-02-30",
                           "2025-02-29",
                           "2025-13-01",
                           "2025-02-03T25:00",
                           "2025-02-03 10:60",
                           "30.02.2025",
                           "30 February 2025",
                           "31. April 2025",
                           "Sun, 30 Feb 2025 10:00:00 GMT",
                           "Oct 5, 2024, 25:00",
                           "20250230",
                           "3 hours",
                           "ago",
                           "hours ago 3",
                           "s ago",
                           "3 4 hours ago",
                           "99999 days ago",
                           "9999 years ago",
                           "3 apples ago",
                           "May I",
                           "Otters of 2025",
                           "In March 2025 the otters came",
                           "12:30"}) {
    INFO(none);
    CHECK(clean_date(none, kNow) == "");
  }
  CHECK(clean_date("2024-02-29", kNow) == "2024-02-29");
  CHECK(clean_date("3 hours ago") == "");  // of an unknown time
}

TEST_CASE("Every word for a month, a day and a unit is read in its language", "[fetchers][dates]") {
  const auto parts = [](std::string_view list, char separator) {
    std::vector<std::string> out;
    for (std::size_t end = 0; end != std::string_view::npos; list.remove_prefix(end + 1)) {
      end = list.find(separator);
      out.emplace_back(list.substr(0, end));
      if (end == std::string_view::npos) break;
    }
    return out;
  };
  for (const DateWords& language : date_words()) {
    INFO(language.language);
    std::vector<std::string> months;
    if (!language.months.empty()) {
      months = parts(language.months, '|');
      REQUIRE(months.size() == 12);
    }
    for (std::size_t i = 0; i < months.size(); ++i)
      for (const std::string& name : parts(months[i], ' ')) {
        INFO(name);
        const std::string month = (i < 9 ? "0" : "") + std::to_string(i + 1);
        CHECK(clean_date("7 " + name + " 2024") == "2024-" + month + "-07");
      }
    for (const std::string& name : parts(language.moments[2], '|'))
      CHECK(clean_date(name, kNow) == "2025-02-28");
    for (const std::string& frame : parts(language.frames, '|'))
      for (const std::string_view unit : language.units)
        for (const std::string& name : parts(unit, ' ')) {
          std::string text = frame;
          text.replace(text.find('*'), 1, "2 " + name);
          INFO(text);
          CHECK(!clean_date(text, kNow).empty());
        }
  }
}

TEST_CASE("Dates are read in time linear in any text", "[fetchers][dates][security]") {
  metafuse::Random random(11);
  constexpr std::string_view kParts[] = {"3 ",   "ago ",     "\u524d", "vor ", "2025-", "02/", ":", "Mar ",
                                         "\xff", "\xe2\x80", "de ",    "999",  ".",     "T",   "+", "\0"};
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::size_t n = random.below(12); n > 0; --n) text += kParts[random.below(std::size(kParts))];
    const std::string date = clean_date(text, kNow);
    INFO(text);
    REQUIRE((date.empty() || date.size() >= 4));
    REQUIRE(date.size() <= 40);
  }
}
