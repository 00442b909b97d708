#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include <simdjson.h>

#include "core/json.h"
#include "core/utf8.h"
#include "fetchers/parsers/hit_builder.h"

namespace metafuse::fetchers::parsers {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr std::size_t kMaxHits = 1000;

/// One key of a path; a number counts in an array.
struct Key {
  std::string_view text;
  std::optional<std::size_t> index;
};

/// A key path: matched at any depth as SearXNG's json_engine does, or from the root after "$".
struct KeyPath {
  std::vector<Key> keys;
  bool is_anchored = false;
};

std::optional<std::size_t> index_of(std::string_view key) {
  const bool is_number = !key.empty() && key.size() <= 6 && (key == "0" || key.front() != '0') &&
                         std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) return std::nullopt;
  std::size_t index = 0;
  for (const char c : key) index = index * 10 + static_cast<std::size_t>(c - '0');
  return index;
}

/// in: text - lives as long as the path
KeyPath parse_key_path(std::string_view text) {
  KeyPath path;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('/'), text.size());
    const std::string_view key = text.substr(0, end);
    if (end > 0) path.keys.push_back({key, index_of(key)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!path.keys.empty() && path.keys.front().text == "$") {
    path.is_anchored = true;
    path.keys.erase(path.keys.begin());
  }
  return path;
}

bool is_container(element value) {
  return value.is_object() || value.is_array();
}

/// Calls `visit(is_match, child)` for every child, where is_match says that the child stands under the key;
/// false when a visit ended it.
template <class Visit>
bool for_each_child(element value, const Key& key, const Visit& visit) {
  if (value.is_object()) {
    for (const auto field : simdjson::dom::object(value))
      if (!visit(field.key == key.text, field.value)) return false;
  } else if (value.is_array()) {
    std::size_t index = 0;
    for (const element item : simdjson::dom::array(value))
      if (!visit(key.index == index++, item)) return false;
  }
  return true;
}

/// source: the meaning of SearXNG's json_engine: a key that matches takes the next one, every other child is
///         searched with the same keys
/// in:     take - takes one match; false ends the search
template <class Take>
bool search_anywhere(element value, std::span<const Key> keys, const Take& take) {
  return for_each_child(value, keys.front(), [&](bool is_match, element child) {
    if (is_match && keys.size() == 1) return take(child);
    if (!is_container(child)) return true;
    return search_anywhere(child, is_match ? keys.subspan(1) : keys, take);
  });
}

template <class Take>
bool search_from_root(element value, std::span<const Key> keys, const Take& take) {
  if (keys.empty()) return take(value);
  const bool is_any = keys.front().text == "*";
  return for_each_child(value, keys.front(), [&](bool is_match, element child) {
    return !(is_any || is_match) || search_from_root(child, keys.subspan(1), take);
  });
}

template <class Take>
void find(element value, const KeyPath& path, const Take& take) {
  if (path.is_anchored)
    search_from_root(value, path.keys, take);
  else if (!path.keys.empty())
    search_anywhere(value, path.keys, take);
}

std::optional<element> find_first(element value, const KeyPath& path) {
  std::optional<element> found;
  find(value, path, [&](element match) {
    found = match;
    return false;
  });
  return found;
}

/// A scalar as text; the first of an array; nothing for null and objects.
std::optional<PartText> text_of(element value) {
  switch (value.type()) {
    case element_type::STRING:
      return PartText(std::string_view(value));
    case element_type::INT64:
      return PartText(std::to_string(int64_t(value)));
    case element_type::UINT64:
      return PartText(std::to_string(uint64_t(value)));
    case element_type::DOUBLE:
      return PartText(to_text(Json(double(value))));
    case element_type::BOOL:
      return PartText(std::string_view(bool(value) ? "true" : "false"));
    case element_type::ARRAY:
      for (const element item : simdjson::dom::array(value)) return text_of(item);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

/// What an answer says of its own failure: {"error": ...}, as most JSON APIs write it.
std::optional<PartText> error_of(element root) {
  if (!root.is_object()) return std::nullopt;
  for (const std::string_view key : {"error", "errors", "message", "detail"}) {
    element value;
    if (root[key].get(value) != simdjson::SUCCESS) continue;
    if (const auto text = text_of(value)) return text->view() == "false" ? std::nullopt : text;
    if (value.is_object())
      for (const std::string_view inner : {"message", "reason", "info", "msg", "error"})
        if (element said; value[inner].get(said) == simdjson::SUCCESS)
          if (const auto text = text_of(said)) return text;
  }
  return std::nullopt;
}

/// The key paths of one engine, parsed once an answer.
class Reader {
 public:
  Reader(const AnswerRules& rules, const AnswerContext& context) : rules_(rules), context_(context) {}

  void append(RankedList& list, element result) {
    const PartOf part_of = [&](const std::string& path) -> std::optional<PartText> {
      if (path.empty()) return std::nullopt;
      const auto value = find_first(result, parsed(path));
      return value ? text_of(*value) : std::nullopt;
    };
    append_hit(list, read_raw_hit(rules_, part_of, context_), rules_, context_, false);
  }

  /// Without a list of results: the n-th url goes with the n-th title and the n-th content.
  void append_zipped(RankedList& list, element root) const {
    const auto all = [&](const std::string& path) {
      std::vector<PartText> texts;
      if (!path.empty())
        find(root, parse_key_path(path), [&](element match) {
          texts.push_back(text_of(match).value_or(PartText()));
          return texts.size() < kMaxHits;
        });
      return texts;
    };
    const auto urls = all(rules_.url), titles = all(rules_.title), contents = all(rules_.content);
    for (std::size_t i = 0; i < urls.size(); ++i) {
      RawHit raw;
      raw.url = urls[i];
      raw.url->put_before(rules_.url_prefix);
      if (i < titles.size()) raw.title = titles[i];
      if (i < contents.size()) raw.content = contents[i];
      append_hit(list, raw, rules_, context_, false);
    }
  }

 private:
  /// Paths of url_format do not live long enough to be viewed: each keeps its text.
  const KeyPath& parsed(const std::string& path) {
    for (const auto& [text, known] : paths_)
      if (*text == path) return known;
    auto text = std::make_unique<const std::string>(path);
    KeyPath known = parse_key_path(*text);
    return paths_.emplace_back(std::move(text), std::move(known)).second;
  }

  const AnswerRules& rules_;
  const AnswerContext& context_;
  std::vector<std::pair<std::unique_ptr<const std::string>, KeyPath>> paths_;
};

Error no_results(const AnswerRules& rules, element root) {
  if (const auto error = error_of(root))
    return fail(Code::bad_data, "the engine says: " + std::string(error->view().substr(0, 300)));
  return fail(Code::bad_data,
              "the answer is JSON without \"" + rules.results + "\", where the results should stand");
}

void append_children(RankedList& list, Reader& reader, element results) {
  if (results.is_array()) list.hits.reserve(std::min(kMaxHits, simdjson::dom::array(results).size()));
  for_each_child(results, {}, [&](bool, element result) {
    if (is_container(result)) reader.append(list, result);
    return list.hits.size() < kMaxHits;
  });
}

Result<RankedList> read_answer(const AnswerRules& rules, element root, const AnswerContext& context) {
  RankedList list;
  Reader reader(rules, context);
  if (!rules.results.empty()) {
    const auto results = find_first(root, parse_key_path(rules.results));
    if (!results || (!is_container(*results) && !results->is_null())) {
      if (!rules.may_lack_results || error_of(root)) return no_results(rules, root);
    } else {
      append_children(list, reader, *results);
    }
  } else if (root.is_array() && !parse_key_path(rules.url).is_anchored) {
    append_children(list, reader, root);
  } else {
    if (const auto error = error_of(root)) return no_results(rules, root);
    reader.append_zipped(list, root);
  }
  if (!rules.suggestion.empty())
    find(root, parse_key_path(rules.suggestion), [&](element match) {
      if (const auto text = match.is_array() ? std::nullopt : text_of(match))
        append_suggestion(list, text->view());
      for_each_child(match, {}, [&](bool, element item) {
        if (const auto text = text_of(item)) append_suggestion(list, text->view());
        return true;
      });
      return true;
    });
  return list;
}

/// The parser of this thread. Its buffers stay for the next answer, unless this one was unusually large.
class ScratchParser {
 public:
  ~ScratchParser() {
    if (parser().capacity() > kMostKept) parser() = simdjson::dom::parser();
  }

  simdjson::simdjson_result<element> parse(std::string_view text) {
    return parser().parse(text.data(), text.size());
  }

 private:
  static constexpr std::size_t kMostKept = std::size_t{256} << 10;

  static simdjson::dom::parser& parser() {
    static thread_local simdjson::dom::parser scratch;
    return scratch;
  }
};

/// Parses and hands the root to `read`; the tree lives until it returns.
template <class Read>
Result<RankedList> with_root(std::string_view body, const Read& read) {
  if (body.starts_with("\xEF\xBB\xBF")) body.remove_prefix(3);
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return fail(Code::bad_data, "the answer is empty");
  ScratchParser parser;
  auto root = parser.parse(body);
  if (root.error() == simdjson::UTF8_ERROR) root = parser.parse(to_valid_utf8(body));
  if (root.error() != simdjson::SUCCESS)
    return fail(Code::bad_data,
                std::string("the answer is no JSON: ") + simdjson::error_message(root.error()));
  return read(root.value_unsafe());
}

/// The place of a column in groonga's header [["_key","ShortText"], ...].
std::optional<std::size_t> column_of(simdjson::dom::array header, std::string_view name) {
  std::size_t index = 0;
  for (const element column : header) {
    element label;
    if (column.at_pointer("/0").get(label) == simdjson::SUCCESS && label.is_string() &&
        std::string_view(label) == name)
      return index;
    ++index;
  }
  return std::nullopt;
}

}  // namespace

Result<RankedList> parse_json_answer(const AnswerRules& rules, std::string_view body,
                                     const AnswerContext& context) {
  return with_root(body, [&](element root) { return read_answer(rules, root, context); });
}

/// [[status, start, elapsed, message], [[[count], [[column, type]...], [value...]...]]]
Result<RankedList> parse_groonga_answer(const AnswerRules& rules, std::string_view body,
                                        const AnswerContext& context) {
  return with_root(body, [&](element root) -> Result<RankedList> {
    int64_t status = 0;
    if (root.at_pointer("/0/0").get(status) != simdjson::SUCCESS)
      return fail(Code::bad_data, "the answer is no answer of groonga's select");
    if (element message; status != 0) {
      std::optional<PartText> text;
      if (root.at_pointer("/0/3").get(message) == simdjson::SUCCESS) text = text_of(message);
      return fail(Code::bad_data,
                  "the engine says: " + (text ? std::string(text->view()) : std::to_string(status)));
    }
    simdjson::dom::array header, rows;
    if (root.at_pointer("/1/0/1").get(header) != simdjson::SUCCESS ||
        root.at_pointer("/1/0").get(rows) != simdjson::SUCCESS)
      return fail(Code::bad_data, "groonga's answer holds no table of results");
    RankedList list;
    std::size_t index = 0;
    for (const element row : rows) {
      if (index++ < 2 || !row.is_array()) continue;
      const PartOf part_of = [&](const std::string& name) -> std::optional<PartText> {
        const auto column = name.empty() ? std::nullopt : column_of(header, name);
        element value;
        if (!column || simdjson::dom::array(row).at(*column).get(value) != simdjson::SUCCESS)
          return std::nullopt;
        return text_of(value);
      };
      append_hit(list, read_raw_hit(rules, part_of, context), rules, context, false);
    }
    return list;
  });
}

}  // namespace metafuse::fetchers::parsers

namespace metafuse::fetchers {

Result<void> check_key_path(const std::string& path) {
  const auto parsed = parsers::parse_key_path(path);
  if (parsed.keys.empty() && !parsed.is_anchored)
    return fail(Code::bad_config, "\"" + path + "\" is no key path; write keys with / between them");
  for (const char c : path)
    if (static_cast<unsigned char>(c) < 0x20)
      return fail(Code::bad_config, "a key path with a control character");
  return {};
}

}  // namespace metafuse::fetchers
