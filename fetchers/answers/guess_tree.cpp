// Guesses where the results are in JSON, or in XML converted to JSON: attributes become "@name", and several
// elements of one name become a list.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "core/text.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/guess.h"
#include "fetchers/answers/guess_worth.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMostItems = 200;  ///< items per list that are examined
constexpr int kDeepestList = 7;
constexpr int kDeepestPart = 5;
constexpr std::size_t kMostParts = 400;
constexpr double kClearTitle = 6;  ///< the worth of a title whose key says so

struct List {
  std::string path;
  int depth = 0;
  std::vector<const Json*> items;
};

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
    ++item_;
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
    part.items.push_back(item_);
    part.is_chosen = part.is_chosen || is_chosen;
  }

  bool chooses_addresses_;
  std::size_t item_ = 0;

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
      const auto objects = static_cast<std::size_t>(
          std::count_if(object->begin(), object->end(), [](const auto& m) { return m.value().is_object(); }));
      const bool is_map = object->size() > 1 && objects == object->size();
      // One member may say something about the others, such as their order.
      const bool is_mixed_map = objects > 1 && objects + 1 == object->size() && are_alike(*object);
      for (const auto& member : *object) {
        if (is_map) add(path, depth, member.value());
        if (is_mixed_map && member.value().is_object()) add(path + "/*", depth, member.value());
        const std::string key(member.key());
        if (key.find('/') == std::string::npos && !leads_elsewhere(key))
          walk(member.value(), path + '/' + key, depth + 1);
      }
    }
  }
  const std::map<std::string, List>& lists() const { return lists_; }

 private:
  /// Whether the objects in an object have at least two keys in common.
  static bool are_alike(const JsonObject& object) {
    const JsonObject* first = nullptr;
    for (const auto& member : object) {
      const JsonObject* one = member.value().if_object();
      if (one == nullptr) continue;
      if (first == nullptr) first = one;
      const auto common =
          std::count_if(one->begin(), one->end(), [&](const auto& m) { return first->contains(m.key()); });
      if (common < 2) return false;
    }
    return true;
  }

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
    const std::string path = path_of(part);
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
    const std::string path = path_of(part);
    return !rule.empty() && path == rule.first() &&
           std::any_of(part.values.begin(), part.values.end(),
                       [](const std::string& value) { return value.find('/') != std::string::npos; });
  });
}

/// The part of that path; nullptr if there is none.
const Part* part_at(const std::vector<Part>& parts, std::string_view path) {
  const auto found =
      std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return path_of(part) == path; });
  return found == parts.end() ? nullptr : &*found;
}

/// A person's name in two parts, which make a title together.
std::optional<PartRule> name_of_person(const std::vector<Part>& parts) {
  const auto path_named = [&](std::initializer_list<std::string_view> names) -> std::string {
    for (const Part& part : parts)
      if (part.keys.size() <= 2 && title_key_worth(part) > 0 &&
          std::find(names.begin(), names.end(), plain_key(part.keys.back())) != names.end())
        return path_of(part);
    return {};
  };
  PartRule name(path_named({"givenname", "givennames", "firstname"}));
  const std::string family = path_named({"familyname", "familynames", "lastname", "surname"});
  if (name.empty() || family.empty()) return std::nullopt;
  name.paths.push_back(family);
  name.is_joined = true;
  name.separator = " ";
  return name;
}

/// The title of the items that lack the chosen one, where a list has items of several kinds.
std::string other_title(const std::vector<Part>& parts, std::size_t items, const Part& title) {
  if (title.values.size() >= items) return {};
  const Part* best = nullptr;
  double best_worth = 0;
  for (const Part& part : parts) {
    const double worth = title_key_worth(part);
    const bool fits =
        worth > best_worth && std::none_of(part.values.begin(), part.values.end(), is_address) &&
        std::find_first_of(part.items.begin(), part.items.end(), title.items.begin(), title.items.end()) ==
            part.items.end();
    if (!fits) continue;
    best = &part;
    best_worth = worth;
  }
  return best == nullptr ? std::string() : path_of(*best);
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
  if (text.path.empty() && plain_key(title.path.substr(title.path.rfind('/') + 1)) == "shortdescription") {
    text = title;  // nothing longer is there to be described
    title = best_of(parts, items, title_worth, text.path);
  }
  Guess guess;
  guess.rules.results = "$" + list.path;
  guess.rules.url = url.path;
  guess.rules.title = title.path;
  guess.rules.content = text.path;
  if (const auto name = name_of_person(parts); name && title.worth < kClearTitle)
    guess.rules.title = *name;
  else if (const Part* chosen = part_at(parts, title.path); chosen != nullptr)
    if (const std::string other = other_title(parts, items, *chosen); !other.empty()) {
      guess.rules.title.paths.push_back(other);
      guess.rules.title.has_fallbacks = true;
    }
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

}  // namespace

std::string tree_path_as_xpath(std::string_view path, bool is_in_result) {
  std::string out = is_in_result ? "." : "";
  for (std::size_t at = 1; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at + 1), path.size());
    const std::string_view step = path.substr(at, end - at);
    if (step != "/*" && step != "/#text" && !(step.size() > 1 && is_ascii_digit(step[1]))) out += step;
    at = end;
  }
  return out.empty() ? "." : out;
}

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
    rules.results = tree_path_as_xpath(rules.results, false);
    for (PartRule* part : {&rules.url, &rules.title, &rules.content, &rules.published, &rules.language,
                           &rules.thumbnail, &rules.id})
      for (std::string& path : part->paths) path = tree_path_as_xpath(path, true);
    if (best.chooses_address)
      rules.url = PartRule(rules.url.first() + "[starts-with(normalize-space(.), 'http')]");
  }
  if (!rules.id.empty()) rules.url_format = "https://host.example/{" + rules.id.first() + raw + "}";
  rules.id = {};
  return rules;
}

}  // namespace metafuse::fetchers
