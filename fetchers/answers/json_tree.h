#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "core/result.h"
#include "fetchers/answers/hit_builder.h"

namespace metafuse::fetchers {

using simdjson::dom::element;
using simdjson::dom::element_type;

/// One key of a path; a number counts in an array. `key[member=value]` takes only objects whose member is so.
struct Key {
  std::string_view text;
  std::optional<std::size_t> index;
  std::string_view member;  ///< empty: any value
  std::string_view value;
};

/// A key path: matched at any depth as SearXNG's json_engine does, or from the root after "$".
struct KeyPath {
  std::vector<Key> keys;
  bool is_anchored = false;
};

/// in: text - lives as long as the path
KeyPath parse_key_path(std::string_view text);

inline bool is_container(element value) {
  return value.is_object() || value.is_array();
}

/// Whether the member is that text, or a list that contains it.
bool has_member(element value, std::string_view name, std::string_view text);

/// True when the value has the member that the key asks for.
inline bool passes_filter(element value, const Key& key) {
  return key.member.empty() || has_member(value, key.member, key.value);
}

/// Calls `visit(is_match, child)` for every child, where is_match says that the child stands under the key;
/// false when a visit ended it.
template <class Visit>
bool for_each_child(element value, const Key& key, const Visit& visit) {
  if (value.is_object()) {
    const simdjson::dom::object fields(value);
    for (auto field = fields.begin(); field != fields.end(); ++field) {
      const element child = field.value();
      if (!visit(field.key_equals(key.text) && passes_filter(child, key), child)) return false;
    }
  } else if (value.is_array()) {
    std::size_t index = 0;
    for (const element item : simdjson::dom::array(value))
      if (!visit(key.index == index++ && passes_filter(item, key), item)) return false;
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
    const bool is_taken = is_match || (is_any && passes_filter(child, keys.front()));
    return !is_taken || search_from_root(child, keys.subspan(1), take);
  });
}

template <class Take>
void find(element value, const KeyPath& path, const Take& take) {
  if (path.is_anchored)
    search_from_root(value, path.keys, take);
  else if (!path.keys.empty())
    search_anywhere(value, path.keys, take);
}

std::optional<element> find_first(element value, const KeyPath& path);

/// A scalar as text; the first of an array; missing for null and objects.
///
/// in: texts - keeps what does not stand in the answer as text
PartText text_of(element value, TextPool& texts);

/// A parsed answer. Its elements live until it is gone; a thread has one at a time, and its buffers stay for
/// the next answer unless this one was unusually large.
class JsonTree {
 public:
  /// in:     body - JSON, or what repaired_json() understands
  /// errors: bad_data: empty, no JSON
  JsonTree(std::string_view body, const AnswerContext& context);
  ~JsonTree();
  JsonTree(const JsonTree&) = delete;
  JsonTree& operator=(const JsonTree&) = delete;

  const Result<element>& root() const { return root_; }

 private:
  Result<element> root_;
};

}  // namespace metafuse::fetchers
