#include <algorithm>
#include <memory>
#include <vector>

#include "fetchers/answers/hit_builder.h"
#include "fetchers/answers/json_tree.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxHits = 1000;
constexpr std::string_view kOwnKey = "@key";
constexpr std::size_t kMaxJoined = 50;
constexpr std::size_t kMaxShownKeys = 20;

/// What an answer says of its own failure: {"error": ...}, as most JSON APIs write it.
std::optional<PartText> error_of(element root) {
  if (!root.is_object()) return std::nullopt;
  for (const std::string_view key : {"error", "errors", "message", "detail"}) {
    element value;
    if (root[key].get(value) != simdjson::SUCCESS) continue;
    if (auto text = text_of(value)) return text->view() == "false" ? std::nullopt : std::move(text);
    if (value.is_object())
      for (const std::string_view inner : {"message", "reason", "info", "msg", "error"})
        if (element said; value[inner].get(said) == simdjson::SUCCESS)
          if (auto text = text_of(said)) return text;
  }
  return std::nullopt;
}

/// The key paths of one engine, parsed once per answer.
class ResultReader {
 public:
  ResultReader(const AnswerRules& rules, const AnswerContext& context) : rules_(rules), context_(context) {}

  /// in: key - under which the result stands in an object; empty in an array
  void append(RankedList& list, element result, std::string_view key) {
    note_keys(result);
    const PartOf part_of = [&](const std::string& path,
                               const std::string* separator) -> std::optional<PartText> {
      if (path.empty()) return std::nullopt;
      if (path == kOwnKey) return key.empty() ? std::nullopt : std::optional(PartText(key));
      if (separator != nullptr) return all_texts(result, parsed(path), *separator);
      const auto value = find_first(result, parsed(path));
      return value ? text_of(*value) : std::nullopt;
    };
    append_hit(list, read_raw_hit(rules_, part_of, context_), rules_, context_, false);
  }

 private:
  /// Everything under a path, elements of arrays apart.
  static std::optional<PartText> all_texts(element result, const KeyPath& path,
                                           const std::string& separator) {
    std::vector<std::string> texts;
    const auto take = [&](element value) {
      if (const auto text = value.is_array() ? std::nullopt : text_of(value); text && !text->empty())
        texts.emplace_back(text->view());
    };
    find(result, path, [&](element match) {
      take(match);
      if (match.is_array())
        for (const element item : simdjson::dom::array(match)) take(item);
      return texts.size() < kMaxJoined;
    });
    return PartText(joined_texts(texts, separator));
  }

  void note_keys(element result) const {
    if (context_.findings == nullptr || !context_.findings->keys.empty() || !result.is_object()) return;
    for (const auto field : simdjson::dom::object(result))
      if (context_.findings->keys.size() < kMaxShownKeys) context_.findings->keys.emplace_back(field.key);
  }

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

void append_children(RankedList& list, ResultReader& reader, element results) {
  if (results.is_array()) {
    const simdjson::dom::array items(results);
    list.hits.reserve(list.hits.size() + std::min(kMaxHits, items.size()));
    for (const element result : items)
      if (list.hits.size() < kMaxHits) reader.append(list, result, {});
  } else if (results.is_object()) {
    for (const auto field : simdjson::dom::object(results))
      if (list.hits.size() < kMaxHits) reader.append(list, field.value, field.key);
  }
}

/// "$/groups/*/items" is every group's list; "$/groups/*" is every group as a result, as is the object at
/// "$/edges/*/node". False when there is none.
bool append_starred(RankedList& list, ResultReader& reader, element root, const KeyPath& path) {
  const bool is_result = path.keys.back().text == "*";
  bool is_found = false;
  KeyPath parents = path;
  const bool has_keys = is_result && path.keys.back().member.empty();
  if (has_keys) parents.keys.pop_back();  // so that @key knows under which keys the results stand
  find(root, parents, [&](element match) {
    is_found = true;
    if (has_keys || match.is_array())
      append_children(list, reader, match);
    else
      reader.append(list, match, {});
    return list.hits.size() < kMaxHits;
  });
  return is_found;
}

/// False when the answer has no list of results.
bool append_results(RankedList& list, ResultReader& reader, element root, const std::string& where) {
  if (where == ".") {
    reader.append(list, root, {});
    return true;
  }
  const KeyPath path = parse_key_path(where);
  const bool is_starred = path.is_anchored && std::any_of(path.keys.begin(), path.keys.end(),
                                                          [](const Key& key) { return key.text == "*"; });
  if (is_starred) return append_starred(list, reader, root, path);
  const auto results = find_first(root, path);
  if (!results || (!is_container(*results) && !results->is_null())) return false;
  append_children(list, reader, *results);
  return true;
}

Result<RankedList> read_json(const AnswerRules& rules, element root, const AnswerContext& context) {
  RankedList list;
  ResultReader reader(rules, context);
  if (!rules.results.empty()) {
    if (!append_results(list, reader, root, rules.results) && (!rules.may_lack_results || error_of(root)))
      return no_results(rules, root);
  } else if (root.is_array() && (rules.url.empty() || !parse_key_path(rules.url.first()).is_anchored)) {
    append_children(list, reader, root);
  } else {
    if (const auto error = error_of(root)) return no_results(rules, root);
    append_zipped(list, rules, context, [&](const std::string& path) {
      std::vector<PartText> texts;
      find(root, parse_key_path(path), [&](element match) {
        texts.push_back(text_of(match).value_or(PartText()));
        return texts.size() < kMaxHits;
      });
      return texts;
    });
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

}  // namespace

Result<RankedList> parse_json_answer(const AnswerRules& rules, std::string_view body,
                                     const AnswerContext& context) {
  const JsonTree tree(body, context);
  if (!tree.root()) return tree.root().error();
  return read_json(rules, *tree.root(), context);
}

Result<Texts> json_texts(const std::string& path, std::string_view body, const AnswerContext& context,
                         std::size_t most) {
  const JsonTree tree(body, context);
  if (!tree.root()) return tree.root().error();
  Texts texts;
  const auto take = [&](element value) {
    const auto text = value.is_array() ? std::nullopt : text_of(value);
    if (text && !text->empty()) texts.emplace_back(text->view());
    return texts.size() < most;
  };
  find(*tree.root(), parse_key_path(path), [&](element match) {
    if (!match.is_array()) return take(match);
    for (const element item : simdjson::dom::array(match))
      if (!take(item)) return false;
    return true;
  });
  return texts;
}

Result<void> check_key_path(const std::string& path) {
  const auto parsed = parse_key_path(path);
  if (parsed.keys.empty() && !parsed.is_anchored)
    return fail(Code::bad_config, "\"" + path + "\" is not a key path; write keys with / between them");
  for (const char c : path)
    if (static_cast<unsigned char>(c) < 0x20)
      return fail(Code::bad_config, "a key path with a control character");
  return {};
}

namespace {

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

/// [[status, start, elapsed, message], [[[count], [[column, type]...], [value...]...]]]
Result<RankedList> parse_groonga_answer(const AnswerRules& rules, std::string_view body,
                                        const AnswerContext& context) {
  const JsonTree tree(body, context);
  if (!tree.root()) return tree.root().error();
  const element root = *tree.root();
  int64_t status = 0;
  if (root.at_pointer("/0/0").get(status) != simdjson::SUCCESS)
    return fail(Code::bad_data, "the answer is not from groonga's select");
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
    const PartOf part_of = [&](const std::string& name, const std::string*) -> std::optional<PartText> {
      const auto column = name.empty() ? std::nullopt : column_of(header, name);
      element value;
      if (!column || simdjson::dom::array(row).at(*column).get(value) != simdjson::SUCCESS)
        return std::nullopt;
      return text_of(value);
    };
    append_hit(list, read_raw_hit(rules, part_of, context), rules, context, false);
  }
  return list;
}

}  // namespace metafuse::fetchers
