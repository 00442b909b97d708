// Guesses where the results are in JSON, or in XML converted to JSON: attributes become "@name", and several
// elements of one name become a list.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "core/languages.h"
#include "core/text.h"
#include "fetchers/answers/answer_dates.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/guess.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMostItems = 200;  ///< items per list that are examined
constexpr int kDeepestList = 7;
constexpr int kDeepestPart = 4;
constexpr std::size_t kMostParts = 400;

/// The values at one path in the items of a list.
struct Part {
  std::vector<std::string> keys;
  std::vector<std::string> values;
  bool is_chosen = false;  ///< the first address was chosen among several values of an item
};

struct List {
  std::string path;
  int depth = 0;
  std::vector<const Json*> items;
};

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

std::string plain_key(std::string_view key) {
  std::string out;
  for (const char c : key.substr(key.rfind(':') == std::string_view::npos ? 0 : key.rfind(':') + 1))
    if (c != '_' && c != '-' && c != '@' && c != '$') out += ascii_lower(c);
  return out;
}

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

bool is_address(std::string_view text) {
  return text.starts_with("http://") || text.starts_with("https://") || text.starts_with("//");
}

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
  return text.substr(0, text.find('?')).ends_with(".json") ||
         text.find("/services/data/") != std::string_view::npos;
}

template <class Holds>
double share_of(const Part& part, std::size_t items, const Holds& holds) {
  return static_cast<double>(std::count_if(part.values.begin(), part.values.end(), holds)) /
         static_cast<double>(std::max<std::size_t>(items, 1));
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

double url_worth(const Part& part, std::size_t items) {
  const double key = worth_of_path(part, kUrlWords);
  const double absolute = share_of(part, items, is_address);
  const double pictures = share_of(part, items, is_picture);
  const double interfaces = share_of(part, items, is_interface);
  const double relative =
      key > 3 ? share_of(part, items, [](std::string_view text) { return text.starts_with('/'); }) : 0;
  const double share = std::max(absolute, 0.7 * relative);
  if (share < 0.4 || share_distinct(part) < 0.6) return 0;
  return std::max(0.0,
                  (key + 2) * share - 6 * pictures - 4 * interfaces - 6 * share_of(part, items, is_data));
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

/// Words rather than a code or a URL.
bool is_prose(std::string_view text) {
  return text.size() > 8 && !is_address(text) && text.find(' ') != std::string_view::npos;
}

double text_worth(const Part& part, std::size_t items) {
  const double key = worth_of_path(part, kTextWords);
  const double share = share_of(part, items, is_prose);
  const bool is_constant = part.values.size() >= 3 && share_distinct(part) < 0.4;
  if (key <= 0 || share <= 0.2 || is_constant) return 0;
  return key * (0.5 + share / 2) + std::min(3.0, mean_size(part) / 60);
}

/// The score of a part that its key names, if at least `least` of the items hold such a value.
template <class Holds>
double named_worth(const Part& part, std::size_t items, std::string_view words, double least,
                   const Holds& holds) {
  const double key = worth_of_path(part, words);
  const double share = share_of(part, items, holds);
  return key <= 0 || share < least ? 0 : key * share;
}

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

std::optional<std::string> scalar_text(const Json& value) {
  if (value.is_string()) return std::string(value.as_string());
  if (value.is_number() || value.is_bool()) return to_text(value);
  return std::nullopt;
}

/// Collects every path in the items with the values found there; of a list, only one value is used.
class PartCollector {
 public:
  /// in:     chooses_addresses - of several texts use the first URL, else the first text
  explicit PartCollector(bool chooses_addresses) : chooses_addresses_(chooses_addresses) {}

  void add(const Json& item) {
    seen_.clear();
    std::vector<std::string> keys;
    const JsonArray* row = item.if_array();
    if (row == nullptr) return walk(item, keys, 0);
    for (std::size_t i = 0; i < row->size(); ++i) {
      keys.assign(1, std::to_string(i));
      walk((*row)[i], keys, 1);
    }
  }
  std::vector<Part> parts() {
    std::vector<Part> out;
    for (auto& [path, part] : parts_) out.push_back(std::move(part));
    return out;
  }

 private:
  void walk(const Json& value, std::vector<std::string>& keys, int depth) {
    if (const auto text = scalar_text(value)) return take(keys, *text);
    if (depth > kDeepestPart) return;
    if (const JsonObject* object = value.if_object()) {
      for (const auto& member : *object) {
        const std::string key(member.key());
        if (key.find('/') != std::string::npos || key.find('[') != std::string::npos) continue;
        keys.push_back(key);
        walk(member.value(), keys, depth + 1);
        keys.pop_back();
      }
    } else if (const JsonArray* array = value.if_array(); array != nullptr && !array->empty()) {
      if (const auto text = scalar_text(array->front())) return take_one(keys, *array, *text);
      keys.emplace_back("*");
      walk(array->front(), keys, depth + 1);
      keys.pop_back();
    }
  }

  void take_one(const std::vector<std::string>& keys, const JsonArray& texts, const std::string& first) {
    if (chooses_addresses_ && !is_address(first))
      for (const Json& other : texts)
        if (const auto text = scalar_text(other); text && is_address(*text)) return take(keys, *text, true);
    take(keys, first);
  }

  void take(const std::vector<std::string>& keys, const std::string& text, bool is_chosen = false) {
    if (keys.empty() || text.empty()) return;
    std::string path;
    for (const std::string& key : keys) path += '/' + key;
    if (parts_.size() >= kMostParts && !parts_.contains(path)) return;
    if (!seen_.insert(path).second) return;
    Part& part = parts_[path];
    part.keys = keys;
    part.values.push_back(text);
    part.is_chosen = part.is_chosen || is_chosen;
  }

  bool chooses_addresses_;

  std::map<std::string, Part> parts_;
  std::set<std::string> seen_;
};

/// A table row: an array of several texts or numbers.
bool is_row(const Json& item) {
  const JsonArray* row = item.if_array();
  return row != nullptr && row->size() > 1 && std::none_of(row->begin(), row->end(), [](const Json& cell) {
           return cell.is_object() || cell.is_array();
         });
}

/// Collects all lists of objects or rows in an answer by their paths. The items of lists inside a list form
/// one list.
class ListCollector {
 public:
  void walk(const Json& value, const std::string& path, int depth) {
    if (depth > kDeepestList) return;
    if (const JsonArray* array = value.if_array()) {
      std::size_t looked_at = 0;
      for (const Json& item : *array) {
        if (++looked_at > kMostItems) break;
        if (item.is_object() || is_row(item)) add(path, depth, item);
        walk(item, path + "/*", depth + 1);
      }
    } else if (const JsonObject* object = value.if_object()) {
      const bool is_map =
          object->size() > 1 &&
          std::all_of(object->begin(), object->end(), [](const auto& m) { return m.value().is_object(); });
      for (const auto& member : *object) {
        if (is_map) add(path, depth, member.value());
        const std::string key(member.key());
        if (key.find('/') == std::string::npos) walk(member.value(), path + '/' + key, depth + 1);
      }
    }
  }
  const std::map<std::string, List>& lists() const { return lists_; }

 private:
  void add(const std::string& path, int depth, const Json& item) {
    List& list = lists_[path];
    list.path = path;
    list.depth = depth;
    if (list.items.size() < kMostItems) list.items.push_back(&item);
  }
  std::map<std::string, List> lists_;
};

struct Choice {
  std::string path;
  double worth = 0;
  bool is_chosen = false;
  bool is_html = false;
};

template <class Worth>
Choice best_of(const std::vector<Part>& parts, std::size_t items, const Worth& worth,
               const std::string& taken = {}) {
  Choice best;
  for (const Part& part : parts) {
    std::string path = "$";
    for (const std::string& key : part.keys) path += '/' + key;
    const double value = path == taken ? 0 : worth(part, items);
    if (value > best.worth) best = {path, value, part.is_chosen, share_of(part, items, holds_markup) > 0.3};
  }
  return best;
}

struct Guess {
  AnswerRules rules;
  double worth = 0;
  bool chooses_address = false;
  bool has_path_in_id = false;
};

/// True if the values at a path are paths themselves.
bool has_slash(const std::vector<Part>& parts, const PartRule& rule) {
  return std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
    std::string path = "$";
    for (const std::string& key : part.keys) path += '/' + key;
    return !rule.empty() && path == rule.first() && part.values.front().find('/') != std::string::npos;
  });
}

Guess guess_of(const List& list, AnswerRules::Format format) {
  PartCollector collector(format == AnswerRules::Format::xml);
  for (const Json* item : list.items) collector.add(*item);
  const std::vector<Part> parts = collector.parts();
  const std::size_t items = list.items.size();
  // An item with a user name beside a name is what somebody wrote; the name is the author's.
  const bool is_by_somebody = std::any_of(parts.begin(), parts.end(), [](const Part& part) {
    return part.keys.size() == 1 && plain_key(part.keys[0]) == "username";
  });
  Choice title = best_of(parts, items, [&](const Part& part, std::size_t count) {
    const bool is_author =
        is_by_somebody && part.keys.size() == 1 && plain_key(part.keys[0]).ends_with("name");
    return is_author ? 0 : title_worth(part, count);
  });
  const Choice url = best_of(parts, items, url_worth);
  if (title.path.empty() && !url.path.empty()) title = best_of(parts, items, title_looks);
  if (title.path.empty() && items > 1) title = best_of(parts, items, id_worth);
  title.worth = title.path.empty() ? 0 : title.worth;
  Choice text = best_of(parts, items, text_worth, title.path);
  if (text.path.empty() && !url.path.empty()) text = best_of(parts, items, text_looks, title.path);
  Guess guess;
  guess.rules.results = "$" + list.path;
  guess.rules.url = url.path;
  guess.rules.title = title.path;
  guess.rules.content = text.path;
  guess.rules.is_title_html = title.is_html;
  guess.rules.is_content_html = text.is_html;
  guess.chooses_address = url.is_chosen;
  // No URL was found; perhaps one can be built from the value that identifies an item.
  if (url.path.empty()) guess.rules.id = best_of(parts, items, id_worth).path;
  if (url.path.empty() && guess.rules.id.empty() && !text.path.empty()) guess.rules.id = title.path;
  guess.has_path_in_id = has_slash(parts, guess.rules.id);
  guess.rules.published = best_of(parts, items, date_worth).path;
  guess.rules.language = best_of(parts, items, language_worth).path;
  guess.rules.thumbnail = best_of(parts, items, picture_worth, url.path).path;
  guess.worth = std::min(url.worth, 8.0) + std::min(title.worth, 8.0) + std::min(text.worth, 8.0) / 2 +
                std::min(4.0, std::log2(1.0 + static_cast<double>(items))) - 0.7 * list.depth;
  if (title.worth == 0) guess.worth -= 6;
  if (url.worth == 0 && guess.rules.id.empty()) guess.worth -= 4;
  return guess;
}

/// Turns "$/a/*/b" into XPath. Lists are repeated elements there, so the stars are dropped.
std::string as_xpath(std::string path, bool is_in_result) {
  for (std::size_t at = path.find("/*"); at != std::string::npos; at = path.find("/*")) path.erase(at, 2);
  path.replace(0, 1, is_in_result ? "." : "");
  if (path.ends_with("/#text")) path.erase(path.size() - 6);
  return path.empty() ? "." : path;
}

}  // namespace

Result<AnswerRules> guess_in_tree(const Json& root, AnswerRules::Format format) {
  ListCollector collector;
  collector.walk(root, "", 0);
  Guess best;
  for (const auto& [path, list] : collector.lists()) {
    Guess guess = guess_of(list, format);
    const bool is_possible = !guess.rules.title.empty() || !guess.rules.url.empty();
    if (is_possible && guess.worth > best.worth) best = std::move(guess);
  }
  if (best.worth <= 0) return fail(Code::bad_data, "nothing in the answer looks like a list of results");
  AnswerRules rules = std::move(best.rules);
  rules.format = format;
  const std::string raw = best.has_path_in_id ? "|raw" : "";
  if (format == AnswerRules::Format::xml) {
    rules.results = as_xpath(rules.results, false);
    for (PartRule* part : {&rules.url, &rules.title, &rules.content, &rules.published, &rules.language,
                           &rules.thumbnail, &rules.id})
      if (!part->empty()) *part = PartRule(as_xpath(part->first(), true));
    if (best.chooses_address)
      rules.url = PartRule(rules.url.first() + "[starts-with(normalize-space(.), 'http')]");
  }
  if (!rules.id.empty()) rules.url_format = "https://host.example/{" + rules.id.first() + raw + "}";
  rules.id = {};
  return rules;
}

}  // namespace metafuse::fetchers
