#include "fetchers/answers/guess_worth.h"

#include <cstdint>
#include <set>

#include "core/languages.h"
#include "core/text.h"
#include "fetchers/answers/answer_dates.h"
#include "fetchers/answers/answer_text.h"

namespace metafuse::fetchers {
namespace {

// What the last key of a path suggests, in lower case without - and _ and prefixes. A number is the worth of
// the words behind it. A match of the whole key counts fully, a word within a longer key counts half.
constexpr std::string_view kUrlWords =
    "7 htmlurl weburl permalink webviewlink externalurls resourceurl webui 6 url link landingurl concepturi "
    "5 href apid ee 4 "
    "guid uri 3 doi 2 homepage";
constexpr std::string_view kTitleWords =
    "7 title headline 6 fullname displayname subject shortdescription modelid 5 name 4 label heading package "
    "3 summary 2 caption";
constexpr std::string_view kTextWords =
    "7 description snippet abstract 6 excerpt fragment summary desc blurb selftext extract body teaser "
    "overview firstsentence 5 content text intro 4 comment message note 3 lead info";
constexpr std::string_view kDateNames =
    "7 published pubdate 6 date 5 created 4 updated modified 3 time year ts";
constexpr std::int64_t kAnyMoment = 1'000'000'000;  ///< "3 hours ago" is a date, whenever that was
constexpr std::string_view kPictureWords = "7 thumbnail 6 thumb 5 image 4 picture artwork 2 icon";
constexpr std::string_view kIdWords = "7 slug 6 id identifier 5 path key 4 uuid 3 number code";
constexpr std::string_view kLanguageWords = "7 language lang 5 locale languages";

/// Keys inside a path that belong to something other than the result itself.
constexpr std::string_view kOthers =
    "author user owner avatar channel publisher source license creator profile image thumb icon picture logo "
    "account album api self sub status priority issuetype assignee reporter repository parent bugs license "
    "location address geonames employment affiliation barcode";

/// Addresses below these keys lead to other pages than the result.
constexpr std::string_view kOtherPages = "1 references reference citations";

}  // namespace

std::string plain_key(std::string_view key) {
  std::string out;
  for (const char c : key.substr(key.rfind(':') == std::string_view::npos ? 0 : key.rfind(':') + 1))
    if (c != '_' && c != '-' && c != '@' && c != '$') out += ascii_lower(c);
  return out;
}

namespace {

double worth_of_key(std::string_view key, std::string_view words) {
  double best = 0, worth = 0;
  while (!words.empty()) {
    const std::string_view word = take_until(words, ' ');
    if (is_ascii_digit(word.front()))
      worth = word.front() - '0';
    else if (key == word)
      best = std::max(best, worth);
    else if (word.size() > 3 && key.find(word) != std::string_view::npos)
      best = std::max(best, worth / 2);
  }
  return best;
}

/// The score of a path's keys: the last key says what the value is, the others say what it belongs to.
double worth_of_path(const Part& part, std::string_view words) {
  double worth = worth_of_key(plain_key(part.keys.back()), words);
  // In "title/rendered" and "thumbnail/url", the previous key says what it is.
  if (part.keys.size() > 1) {
    std::size_t before = part.keys.size() - 1;
    while (before > 0 && (part.keys[before - 1] == "*")) --before;
    if (before > 0) worth = std::max(worth, worth_of_key(plain_key(part.keys[before - 1]), words) * 0.8);
  }
  if (worth == 0) return 0;
  for (const std::string& key : part.keys) {
    if (key != "*") worth -= 0.4;
    const std::string plain = plain_key(key);
    for (std::string_view others = words == kPictureWords ? "" : kOthers; !others.empty();)
      if (plain.find(take_until(others, ' ')) != std::string::npos) worth -= 2;
  }
  return worth;
}

}  // namespace

bool is_address(std::string_view text) {
  return text.starts_with("http://") || text.starts_with("https://") || text.starts_with("//");
}

namespace {

bool is_picture(std::string_view text) {
  const std::string lower = ascii_lower(text.substr(0, text.find('?')));
  for (const std::string_view ending : {".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg", ".mp3", ".mp4"})
    if (lower.ends_with(ending)) return true;
  return false;
}

/// A URL meant for programs.
bool is_interface(std::string_view text) {
  return text.find("/api/") != std::string_view::npos || text.find("//api") != std::string_view::npos ||
         text.find("/services/data/") != std::string_view::npos;
}

/// A URL that cannot be a page for people.
bool is_data(std::string_view text) {
  const std::size_t version = text.find("/api/v");
  return text.substr(0, text.find('?')).ends_with(".json") ||
         text.find("/services/data/") != std::string_view::npos ||
         (version != std::string_view::npos && version + 6 < text.size() &&
          is_ascii_digit(text[version + 6]));
}

double share_distinct(const Part& part) {
  const std::set<std::string_view> distinct(part.values.begin(), part.values.end());
  return static_cast<double>(distinct.size()) /
         static_cast<double>(std::max<std::size_t>(part.values.size(), 1));
}

double mean_size(const Part& part) {
  double sum = 0;
  for (const std::string& value : part.values) sum += static_cast<double>(value.size());
  return sum / static_cast<double>(std::max<std::size_t>(part.values.size(), 1));
}

}  // namespace

bool leads_elsewhere(std::string_view key) {
  return worth_of_key(plain_key(key), kOtherPages) == 1;
}

namespace {

/// Whether a key of the path, other than the last, names a picture or other pages.
bool is_elsewhere(const Part& part) {
  return std::any_of(part.keys.begin(), part.keys.end() - 1, [](const std::string& key) {
    return leads_elsewhere(key) || worth_of_key(plain_key(key), kPictureWords) > 0;
  });
}

/// "https://host" of an address.
std::string_view site_of(std::string_view address) {
  const std::size_t host = address.find("//");
  return host == std::string_view::npos ? address : address.substr(0, address.find('/', host + 2));
}

/// 1 if all items are pages of one site, as the results of a site's own search are.
double is_one_site(const Part& part) {
  const bool is_one = std::all_of(part.values.begin(), part.values.end(), [&](const std::string& value) {
    return site_of(value) == site_of(part.values.front());
  });
  return is_one && part.values.size() > 1 ? 1 : 0;
}

}  // namespace

double url_worth(const Part& part, std::size_t items) {
  if (is_elsewhere(part)) return 0;
  const double key = worth_of_path(part, kUrlWords);
  const double absolute = share_of(part, items, is_address);
  const double pictures = share_of(part, items, is_picture);
  const double interfaces = share_of(part, items, is_interface);
  const double relative =
      key > 3 ? share_of(part, items, [](std::string_view text) { return text.starts_with('/'); }) : 0;
  const double share = std::max(absolute, 0.7 * relative);
  if (share < 0.4 || share_distinct(part) < 0.6) return 0;
  // Below several lists, the address is that of something smaller than the item.
  const auto lists = static_cast<double>(std::count(part.keys.begin(), part.keys.end(), "*"));
  return std::max(0.0, (key + 2) * share - 6 * pictures - 4 * interfaces -
                           6 * share_of(part, items, is_data) - 2 * std::max(0.0, lists - 1) +
                           (key > 0 ? is_one_site(part) : 0));
}

double title_worth(const Part& part, std::size_t items) {
  const double key = worth_of_path(part, kTitleWords);
  const double share = share_of(part, items, [](std::string_view text) {
    return text.size() > 1 && text.size() < 400 && !is_address(text) && !text.starts_with('{');
  });
  if (key <= 0 || share < 0.5) return 0;
  const double blanks =
      share_of(part, items, [](std::string_view text) { return text.find(' ') != std::string_view::npos; });
  const double distinct = share_distinct(part);
  return key * share * (items < 3 ? 1 : 0.4 + 0.6 * distinct) + blanks + distinct;
}

namespace {

/// Words rather than a code or a URL.
bool is_prose(std::string_view text) {
  return text.size() > 8 && !is_address(text) && text.find(' ') != std::string_view::npos;
}

}  // namespace

double text_worth(const Part& part, std::size_t items) {
  const double key = worth_of_path(part, kTextWords);
  const double share = share_of(part, items, is_prose);
  const bool is_constant = part.values.size() >= 3 && share_distinct(part) < 0.4;
  if (key <= 0 || share <= 0.2 || is_constant) return 0;
  return key * (0.5 + share / 2) + std::min(3.0, mean_size(part) / 60);
}

namespace {

/// The score of a part that its key names, if at least `least` of the items hold such a value.
template <class Holds>
double named_worth(const Part& part, std::size_t items, std::string_view words, double least,
                   const Holds& holds) {
  const double key = worth_of_path(part, words);
  const double share = share_of(part, items, holds);
  return key <= 0 || share < least ? 0 : key * share;
}

}  // namespace

double date_worth(const Part& part, std::size_t items) {
  return named_worth(part, items, kDateNames, 0.4,
                     [](const std::string& text) { return !clean_date(text, kAnyMoment).empty(); });
}

double language_worth(const Part& part, std::size_t items) {
  return named_worth(part, items, kLanguageWords, 0.4,
                     [](const std::string& text) { return !language_tag(text).empty(); });
}

double picture_worth(const Part& part, std::size_t items) {
  return named_worth(part, items, kPictureWords, 0.3, is_address);
}

/// The score of a value that identifies an item, and from which its URL may be built.
double id_worth(const Part& part, std::size_t items) {
  const std::string last = plain_key(part.keys.back());
  const double key =
      std::max(worth_of_path(part, kIdWords), last.size() > 2 && last.ends_with("id") ? 4.0 : 0.0);
  const double share = share_of(part, items, [](std::string_view text) {
    return text.size() < 200 && text.find(' ') == std::string_view::npos && !is_address(text);
  });
  return share < 0.9 || share_distinct(part) < 0.9 ? 0 : key;
}

// If no key says what the texts are, their appearance decides: titles are short, distinct, and not codes.

double title_looks(const Part& part, std::size_t items) {
  const double share = share_of(part, items, [](const std::string& text) {
    return text.size() > 2 && text.size() < 200 && !is_address(text) &&
           clean_date(text, kAnyMoment).empty() && std::any_of(text.begin(), text.end(), [](char c) {
             return ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z';
           });
  });
  if (share < 0.8 || share_distinct(part) < 0.7) return 0;
  const double with_digits = share_of(part, items, [](std::string_view text) {
    return text.find_first_of("0123456789") != std::string_view::npos;
  });
  return std::max(0.1, 2 - mean_size(part) / 200 - with_digits);
}

double text_looks(const Part& part, std::size_t items) {
  const double share = share_of(part, items, is_prose);
  return share < 0.4 || mean_size(part) < 30 ? 0 : 0.5 + std::min(3.0, mean_size(part) / 60);
}

bool holds_markup(const std::string& text) {
  return text.find("</") != std::string::npos || text.find("<br") != std::string::npos ||
         text.find("&amp;") != std::string::npos || text.find("&quot;") != std::string::npos ||
         text.find("&#") != std::string::npos;
}

std::string path_of(const Part& part) {
  std::string path = "$";
  for (const std::string& key : part.keys) path += '/' + key;
  return path;
}

double title_key_worth(const Part& part) {
  return worth_of_path(part, kTitleWords);
}

}  // namespace metafuse::fetchers
