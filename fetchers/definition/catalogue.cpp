#include "fetchers/definition/catalogue.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/contract.h"

namespace metafuse::fetchers {
namespace {

/// Keys that a block for one of SearXNG's Python engines may keep, because they mean the same here. Any other
/// key would change the definition's own requests.
constexpr std::array<std::string_view, 9> kSharedKeys = {"name",    "shortcut", "categories",
                                                         "weight",  "disabled", "inactive",
                                                         "timeout", "retries",  "retry_on_http_error"};

/// Settings of SearXNG's modules that do not affect what is asked for.
constexpr std::array<std::string_view, 9> kHarmlessKeys = {
    "page_size",      "paging",           "results_per_page",   "sort_criteria",    "time_range_support",
    "use_source_url", "remove_ai_images", "show_torrent_files", "show_magnet_links"};

constexpr std::size_t kMaxParameterBytes = 500;  ///< per parameter

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

YamlEntry* find_entry(YamlNode& map, std::string_view key) {
  for (YamlEntry& entry : map.entries)
    if (entry.first.text == key) return &entry;
  return nullptr;
}

void remove_entry(YamlNode& map, std::string_view key) {
  std::erase_if(map.entries, [&](const YamlEntry& entry) { return entry.first.text == key; });
}

/// The non-empty values of a parameter, which may be a list or a single value.
std::vector<std::string> values_of_parameter(const YamlNode& node) {
  std::vector<std::string> values;
  if (node.is_scalar()) values.push_back(node.text);
  for (const YamlNode& item : node.items)
    if (item.is_scalar()) values.push_back(item.text);
  return values;
}

/// The block's value for a parameter. SearXNG allows a list, as for mirrors; the first is used.
std::string given_value(const YamlNode& block, std::string_view name) {
  const YamlNode* node = block.find(name);
  if (node == nullptr) return {};
  const auto values = values_of_parameter(*node);
  return values.empty() ? std::string() : values.front();
}

/// The first parameter whose value the definition cannot serve; nullptr if it can serve all.
const YamlEntry* unserved(const YamlNode& parameters, const YamlNode& block) {
  for (const YamlEntry& parameter : parameters.entries) {
    if (!parameter.second.is_list()) continue;
    const std::string given = given_value(block, parameter.first.text);
    const auto values = values_of_parameter(parameter.second);
    if (!given.empty() && std::find(values.begin(), values.end(), given) == values.end()) return &parameter;
  }
  return nullptr;
}

std::string shown(const YamlEntry& parameter) {
  return fmt::format("{}: {}", parameter.first.text, fmt::join(values_of_parameter(parameter.second), ", "));
}

void replace_in_texts(YamlNode& node, const std::string& marker, const std::string& value) {
  for (std::size_t at = node.text.find(marker); at != std::string::npos;
       at = node.text.find(marker, at + value.size()))
    node.text.replace(at, marker.size(), value);
  for (YamlNode& item : node.items) replace_in_texts(item, marker, value);
  for (YamlEntry& entry : node.entries) replace_in_texts(entry.second, marker, value);
}

/// Sets the position of all nodes to that of the user's block, so that errors point to a line that the user
/// can see.
void set_places(YamlNode& node, const Place& place) {
  node.place = place;
  for (YamlNode& item : node.items) set_places(item, place);
  for (YamlEntry& entry : node.entries) {
    entry.first.place = place;
    set_places(entry.second, place);
  }
}

/// Merges a definition with the block; the block's keys take precedence.
YamlNode merged(const CatalogueEntry& entry, const YamlNode& block, bool is_python,
                Diagnostics& diagnostics) {
  YamlNode out = entry.block;
  set_places(out, block.place);
  const YamlNode* parameters = entry.block.find("parameters");
  for (const YamlEntry& given : block.entries) {
    const std::string& key = given.first.text;
    if (key == "engine") continue;
    const bool is_parameter = parameters != nullptr && parameters->find(key) != nullptr;
    if (is_python && !is_parameter && is_one_of(kHarmlessKeys, key)) {
      diagnostics.warning(given.first.place,
                          key + " has no effect on the catalogue's engine \"" + entry.name + "\"");
      continue;
    }
    if (YamlEntry* own = find_entry(out, key); own != nullptr && (!is_python || is_one_of(kSharedKeys, key)))
      own->second = given.second;
    else if (own == nullptr)
      out.entries.push_back(given);
  }
  return out;
}

std::string_view lines_of(std::string_view text, std::size_t first, std::size_t end) {
  std::size_t line = 1, begin = 0;
  for (; line < first && begin < text.size(); ++line) begin = text.find('\n', begin) + 1;
  std::size_t stop = begin;
  for (; line < end && stop < text.size(); ++line)
    stop = std::min(text.find('\n', stop), text.size() - 1) + 1;
  std::string_view lines = text.substr(begin, stop - begin);
  while (lines.ends_with("\n\n")) lines.remove_suffix(1);
  return lines;
}

std::vector<CatalogueEntry> read_catalogue() {
  std::vector<CatalogueEntry> entries;
  for (const CatalogueFile& file : catalogue_files()) {
    auto root = parse_yaml(file.text, file.name);
    require(root.has_value(), "the catalogue is YAML");
    const YamlNode* list = root->find("engines");
    require(list != nullptr && list->is_list(), "a file of the catalogue lists engines");
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      const YamlNode& block = list->items[i];
      const bool is_last = i + 1 == list->items.size();
      const std::size_t end = is_last ? std::string_view::npos : list->items[i + 1].place.line;
      CatalogueEntry entry;
      entry.block = block;
      entry.name = entry.value("name");
      entry.kind = std::string(file.name.substr(0, file.name.find('.')));
      entry.searxng = entry.value("searxng");
      entry.text = lines_of(file.text, block.place.line, end);
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

}  // namespace

std::string CatalogueEntry::value(std::string_view key) const {
  const YamlNode* node = block.find(key);
  return node != nullptr && node->is_scalar() ? node->text : std::string();
}

std::string CatalogueEntry::about(std::string_view key) const {
  const YamlNode* about = block.find("about");
  const YamlNode* node = about == nullptr ? nullptr : about->find(key);
  return node != nullptr && node->is_scalar() ? node->text : std::string();
}

const std::vector<CatalogueEntry>& catalogue() {
  static const std::vector<CatalogueEntry> entries = read_catalogue();
  return entries;
}

std::optional<YamlNode> catalogue_block(const YamlNode& block, const std::string& type, bool is_searxng,
                                        Diagnostics& diagnostics) {
  const CatalogueEntry* served_elsewise = nullptr;
  for (const bool is_python : {is_searxng, !is_searxng})
    for (const CatalogueEntry& entry : catalogue()) {
      if ((is_python ? entry.searxng : entry.name) != type) continue;
      const YamlNode* parameters = entry.block.find("parameters");
      if (parameters == nullptr || unserved(*parameters, block) == nullptr)
        return merged(entry, block, is_python, diagnostics);
      if (served_elsewise == nullptr) served_elsewise = &entry;
    }
  if (served_elsewise == nullptr) return std::nullopt;
  const YamlEntry* parameter = unserved(*served_elsewise->block.find("parameters"), block);
  diagnostics.error(block.place, "the catalogue supports the engine \"" + type + "\" with " +
                                     shown(*parameter) + " and other definitions, not with " +
                                     parameter->first.text + ": " +
                                     given_value(block, parameter->first.text));
  return block;
}

void fill_parameters(YamlNode& block, Diagnostics& diagnostics) {
  const YamlNode* found = block.find("parameters");
  if (found == nullptr) return;
  const YamlNode parameters = *found;
  if (!parameters.is_map()) return diagnostics.error(parameters.place, "parameters must be a map");
  if (const YamlEntry* parameter = unserved(parameters, block))
    diagnostics.error(block.place, "this definition supports only " + shown(*parameter));
  remove_entry(block, "parameters");
  for (const YamlEntry& parameter : parameters.entries) {
    const std::string& name = parameter.first.text;
    const auto presets = values_of_parameter(parameter.second);
    const std::string preset = presets.empty() ? std::string() : presets.front();
    std::string value = given_value(block, name);
    if (value.empty()) value = preset;
    while (!preset.ends_with('/') && value.ends_with('/')) value.pop_back();
    remove_entry(block, name);
    if (value.size() > kMaxParameterBytes) {
      diagnostics.error(block.place, "the parameter " + name + " has more than " +
                                         std::to_string(kMaxParameterBytes) + " bytes");
      continue;
    }
    replace_in_texts(block, "<" + name + ">", value);
  }
}

}  // namespace metafuse::fetchers
