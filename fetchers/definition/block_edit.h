#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/yaml_reader.h"

// Changes to a block of a definition before it is read.

namespace metafuse::fetchers {

inline YamlEntry* find_entry(YamlNode& map, std::string_view key) {
  for (YamlEntry& entry : map.entries)
    if (entry.first.text == key) return &entry;
  return nullptr;
}

inline void remove_entry(YamlNode& map, std::string_view key) {
  std::erase_if(map.entries, [&](const YamlEntry& entry) { return entry.first.text == key; });
}

/// Adds or replaces the value of a key, at the value's place.
inline void set_entry(YamlNode& map, std::string_view key, const YamlNode& value) {
  if (YamlEntry* entry = find_entry(map, key)) {
    entry->second = value;
    return;
  }
  YamlEntry entry;
  entry.first.kind = YamlNode::Kind::scalar;
  entry.first.place = value.place;
  entry.first.text = key;
  entry.second = value;
  map.entries.push_back(std::move(entry));
}

inline YamlNode text_node(std::string text, const Place& place, bool is_quoted = true) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.place = place;
  node.text = std::move(text);
  node.is_quoted = is_quoted;
  return node;
}

/// The text of a scalar below a key, or empty.
inline std::string text_below(const YamlNode& map, std::string_view key) {
  const YamlNode* node = map.find(key);
  return node != nullptr && node->is_scalar() ? node->text : std::string();
}

/// The texts of a list or of a single scalar.
inline std::vector<std::string> texts_in(const YamlNode& node) {
  std::vector<std::string> texts;
  if (node.is_scalar()) texts.push_back(node.text);
  for (const YamlNode& item : node.items)
    if (item.is_scalar()) texts.push_back(item.text);
  return texts;
}

/// Moves a node with all below it to a place, so that mistakes in it point to a line that the user can see.
inline void set_places(YamlNode& node, const Place& place) {
  node.place = place;
  for (YamlNode& item : node.items) set_places(item, place);
  for (YamlEntry& entry : node.entries) {
    entry.first.place = place;
    set_places(entry.second, place);
  }
}

}  // namespace metafuse::fetchers
