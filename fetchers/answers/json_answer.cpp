#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/text.h"
#include "fetchers/answers/answer_text.h"
#include "fetchers/answers/hit_builder.h"
#include "fetchers/answers/json_tree.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxHits = 1000;
constexpr std::string_view kOwnKey = "@key";
constexpr std::size_t kMaxJoined = 50;
constexpr std::size_t kMaxShownKeys = 20;

Error engine_says(std::string_view text) {
  return fail(Code::bad_data, "the engine says: " + std::string(truncate_utf8(text, kMostReportedBytes)));
}

/// What an answer says of its own failure: {"error": ...}, as most JSON APIs write it.
std::optional<std::string> error_of(element root) {
  if (!root.is_object()) return std::nullopt;
  TextPool texts;
  for (const std::string_view key : {"error", "errors", "message", "detail"}) {
    element value;
    if (root[key].get(value) != simdjson::SUCCESS) continue;
    if (const PartText text = text_of(value, texts); !text.is_missing())
      return text.view() == "false" ? std::nullopt : std::optional(std::string(text.view()));
    if (value.is_object())
      for (const std::string_view inner : {"message", "reason", "info", "msg", "error"})
        if (element said; value[inner].get(said) == simdjson::SUCCESS)
          if (const PartText text = text_of(said, texts); !text.is_missing()) return std::string(text.view());
  }
  return std::nullopt;
}

/// The key paths of one engine, parsed once per answer.
class ResultReader {
 public:
  ResultReader(RankedList& list, const AnswerRules& rules, const AnswerContext& context)
      : list_(list), builder_(list, rules, context), context_(context) {
    for (const ResultPart& part : kResultParts) add_paths(rules.*part.rule);
    for (const auto& [name, rule] : rules.details) add_paths(rule);
  }

  /// Whether no more results are taken: there are enough, or the time is over.
  bool is_full() const { return list_.hits.size() >= kMaxHits || context_.end.has_come(); }
  void expect(std::size_t count) { list_.hits.reserve(list_.hits.size() + std::min(kMaxHits, count)); }
  HitBuilder& builder() { return builder_; }

  /// in: key - under which the result stands in an object; empty in an array
  void append(element result, std::string_view key) {
    note_keys(result);
    const auto part_of = [&](const std::string& path, const std::string* separator) -> PartText {
      if (path.empty()) return {};
      if (path == kOwnKey) return key.empty() ? PartText() : PartText(key);
      if (separator != nullptr) return all_texts(result, parsed(path), *separator);
      const auto value = find_first(result, parsed(path));
      return value ? text_of(*value, builder_.texts()) : PartText();
    };
    builder_.append(std::cref(part_of));
  }

 private:
  /// Everything under a path, elements of arrays apart.
  PartText all_texts(element result, const KeyPath& path, const std::string& separator) {
    std::vector<std::string> texts;
    const auto take = [&](element value) {
      if (const PartText text = value.is_array() ? PartText() : text_of(value, builder_.texts());
          !text.empty())
        texts.emplace_back(text.view());
    };
    find(result, path, [&](element match) {
      take(match);
      if (match.is_array())
        for (const element item : simdjson::dom::array(match)) take(item);
      return texts.size() < kMaxJoined;
    });
    return builder_.texts().keep(joined_texts(texts, separator));
  }

  void note_keys(element result) const {
    if (context_.findings == nullptr || !context_.findings->keys.empty() || !result.is_object()) return;
    for (const auto field : simdjson::dom::object(result))
      if (context_.findings->keys.size() < kMaxShownKeys) context_.findings->keys.emplace_back(field.key);
  }

  /// Every result is asked for the same paths in the same order, and those of the rules stay in their places.
  const KeyPath& parsed(const std::string& path) {
    if (next_ == paths_.size()) next_ = 0;
    if (next_ < paths_.size() && paths_[next_].place == &path) return paths_[next_++].parsed;
    const auto known =
        std::find_if(paths_.begin(), paths_.end(), [&](const OwnPath& own) { return own.place == &path; });
    if (known != paths_.end()) {
      next_ = static_cast<std::size_t>(known - paths_.begin()) + 1;
      return known->parsed;
    }
    return parsed_text(path);
  }

  /// Paths in formats do not live long enough to be viewed: each keeps its text.
  const KeyPath& parsed_text(const std::string& path) {
    for (const auto& [text, known] : formats_)
      if (*text == path) return known;
    auto text = std::make_unique<const std::string>(path);
    KeyPath known = parse_key_path(*text);
    return formats_.emplace_back(std::move(text), std::move(known)).second;
  }

  void add_paths(const PartRule& rule) {
    for (const std::string& path : rule.paths) paths_.push_back({&path, parse_key_path(path)});
  }

  struct OwnPath {
    const std::string* place;
    KeyPath parsed;
  };

  RankedList& list_;
  HitBuilder builder_;
  const AnswerContext& context_;
  std::vector<OwnPath> paths_;  ///< of the rules
  std::size_t next_ = 0;
  std::vector<std::pair<std::unique_ptr<const std::string>, KeyPath>> formats_;
};

Error no_results(const AnswerRules& rules, element root) {
  if (const auto error = error_of(root)) return engine_says(*error);
  return fail(Code::bad_data,
              "the answer is JSON without \"" + rules.results + "\", where the results should stand");
}

void append_children(ResultReader& reader, element results) {
  if (results.is_array()) {
    const simdjson::dom::array items(results);
    reader.expect(items.size());
    for (const element result : items)
      if (!reader.is_full()) reader.append(result, {});
  } else if (results.is_object()) {
    for (const auto field : simdjson::dom::object(results))
      if (!reader.is_full()) reader.append(field.value, field.key);
  }
}

/// "$/groups/*/items" is every group's list; "$/groups/*" is every group as a result, as is the object at
/// "$/edges/*/node". False when there is none.
bool append_starred(ResultReader& reader, element root, const KeyPath& path) {
  const bool is_result = path.keys.back().text == "*";
  bool is_found = false;
  KeyPath parents = path;
  const bool has_keys = is_result && path.keys.back().member.empty();
  if (has_keys) parents.keys.pop_back();  // so that @key knows under which keys the results stand
  find(root, parents, [&](element match) {
    is_found = true;
    if (has_keys || match.is_array())
      append_children(reader, match);
    else
      reader.append(match, {});
    return !reader.is_full();
  });
  return is_found;
}

/// False when the answer has no list of results.
bool append_results(ResultReader& reader, element root, const std::string& where) {
  if (where == ".") {
    reader.append(root, {});
    return true;
  }
  const KeyPath path = parse_key_path(where);
  const bool is_starred = path.is_anchored && std::any_of(path.keys.begin(), path.keys.end(),
                                                          [](const Key& key) { return key.text == "*"; });
  if (is_starred) return append_starred(reader, root, path);
  const auto results = find_first(root, path);
  if (!results || (!is_container(*results) && !results->is_null())) return false;
  append_children(reader, *results);
  return true;
}

void append_suggestions(RankedList& list, element root, const std::string& where,
                        const AnswerContext& context) {
  TextPool texts;
  const auto take = [&](element value) {
    if (const PartText text = text_of(value, texts); !text.is_missing())
      append_suggestion(list, text.view(), context);
  };
  find(root, parse_key_path(where), [&](element match) {
    if (!match.is_array()) take(match);
    for_each_child(match, {}, [&](bool, element item) {
      take(item);
      return true;
    });
    return true;
  });
}

Result<RankedList> read_json(const AnswerRules& rules, element root, const AnswerContext& context) {
  RankedList list;
  ResultReader reader(list, rules, context);
  if (!rules.results.empty()) {
    if (!append_results(reader, root, rules.results) && (!rules.may_lack_results || error_of(root)))
      return no_results(rules, root);
  } else if (root.is_array() && (rules.url.empty() || !parse_key_path(rules.url.first()).is_anchored)) {
    append_children(reader, root);
  } else {
    if (const auto error = error_of(root)) return no_results(rules, root);
    reader.builder().append_zipped([&](const std::string& path) {
      std::vector<PartText> texts;
      find(root, parse_key_path(path), [&](element match) {
        const PartText text = text_of(match, reader.builder().texts());
        texts.push_back(text.is_missing() ? PartText("") : text);
        return texts.size() < kMaxHits;
      });
      return texts;
    });
  }
  if (!rules.suggestion.empty()) append_suggestions(list, root, rules.suggestion, context);
  if (context.end.has_come()) return parsed_too_long();
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
  TextPool pool;
  const auto take = [&](element value) {
    const PartText text = value.is_array() ? PartText() : text_of(value, pool);
    if (!text.empty()) texts.emplace_back(text.view());
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

/// The places of the columns in groonga's header [["_key","ShortText"], ...].
std::map<std::string_view, std::size_t> columns_of(simdjson::dom::array header) {
  std::map<std::string_view, std::size_t> columns;
  std::size_t index = 0;
  for (const element column : header) {
    element label;
    if (column.at_pointer("/0").get(label) == simdjson::SUCCESS && label.is_string())
      columns.emplace(std::string_view(label), index);
    ++index;
  }
  return columns;
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
    TextPool texts;
    PartText text;
    if (root.at_pointer("/0/3").get(message) == simdjson::SUCCESS) text = text_of(message, texts);
    return engine_says(text.is_missing() ? std::to_string(status) : std::string(text.view()));
  }
  simdjson::dom::array header, rows;
  if (root.at_pointer("/1/0/1").get(header) != simdjson::SUCCESS ||
      root.at_pointer("/1/0").get(rows) != simdjson::SUCCESS)
    return fail(Code::bad_data, "groonga's answer holds no table of results");
  RankedList list;
  HitBuilder builder(list, rules, context);
  const auto columns = columns_of(header);
  std::size_t index = 0;
  for (const element row : rows) {
    if (index++ < 2 || !row.is_array()) continue;
    if (list.hits.size() >= kMaxHits) break;
    const auto part_of = [&](const std::string& name, const std::string*) -> PartText {
      const auto column = columns.find(name);
      element value;
      if (name.empty() || column == columns.end() ||
          simdjson::dom::array(row).at(column->second).get(value) != simdjson::SUCCESS)
        return {};
      return text_of(value, builder.texts());
    };
    builder.append(std::cref(part_of));
  }
  return list;
}

}  // namespace metafuse::fetchers
