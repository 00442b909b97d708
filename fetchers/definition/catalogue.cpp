#include "fetchers/definition/catalogue.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/contract.h"
#include "core/url.h"
#include "fetchers/definition/block_edit.h"
#include "fetchers/definition/searxng_settings.h"

namespace metafuse::fetchers {
namespace {

/// Keys that a block for one of SearXNG's Python engines may keep, because they mean the same here. Any other
/// key would change the definition's own requests.
constexpr std::array<std::string_view, 11> kSharedKeys = {
    "name",    "shortcut", "categories", "weight", "disabled",           "inactive",
    "timeout", "retries",  "tokens",     "proxy",  "retry_on_http_error"};

/// Settings of SearXNG's modules that do not affect what is asked for.
constexpr std::array<std::string_view, 16> kHarmlessKeys = {"page_size",
                                                            "paging",
                                                            "results_per_page",
                                                            "sort_criteria",
                                                            "time_range_support",
                                                            "display_type",
                                                            "use_source_url",
                                                            "remove_ai_images",
                                                            "show_torrent_files",
                                                            "show_magnet_links",
                                                            "srsort",
                                                            "number_of_results",
                                                            "frontend_url",
                                                            "adobe_order",
                                                            "display_error_messages",
                                                            "torznab_categories"};

constexpr std::size_t kMaxParameterBytes = 500;  ///< per parameter

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The block's value for a parameter. SearXNG allows a list, as for mirrors; the first is used.
std::string given_value(const YamlNode& block, std::string_view name) {
  const YamlNode* node = block.find(name);
  if (node == nullptr) return {};
  const auto values = texts_in(*node);
  return values.empty() ? std::string() : values.front();
}

/// The value with which SearXNG's module asks if a block gives none: that of the first block that SearXNG has
/// for it; nullopt if that has none either.
std::optional<std::string> usual_value(const std::string& module, std::string_view name) {
  for (const YamlNode& shipped : searxng_defaults())
    if (text_below(shipped, "engine") == module) {
      const bool has_value = shipped.find(name) != nullptr;
      return has_value ? std::optional(given_value(shipped, name)) : std::nullopt;
    }
  return std::nullopt;
}

/// The first parameter whose value the definition cannot serve; nullptr if it can serve all.
///
/// in:     module - SearXNG's, whose usual values count where the block gives none; empty: none
const YamlEntry* unserved(const YamlNode& parameters, const YamlNode& block, const std::string& module = {}) {
  for (const YamlEntry& parameter : parameters.entries) {
    if (!parameter.second.is_list()) continue;
    std::optional<std::string> given;
    if (block.find(parameter.first.text) != nullptr) given = given_value(block, parameter.first.text);
    if (!given || given->empty()) given = usual_value(module, parameter.first.text);
    const auto values = texts_in(parameter.second);
    if (given && std::find(values.begin(), values.end(), *given) == values.end()) return &parameter;
  }
  return nullptr;
}

std::string shown(const YamlEntry& parameter) {
  return fmt::format("{}: {}", parameter.first.text, fmt::join(texts_in(parameter.second), ", "));
}

void replace_in_texts(YamlNode& node, const std::string& marker, const std::string& value) {
  for (std::size_t at = node.text.find(marker); at != std::string::npos;
       at = node.text.find(marker, at + value.size()))
    node.text.replace(at, marker.size(), value);
  for (YamlNode& item : node.items) replace_in_texts(item, marker, value);
  for (YamlEntry& entry : node.entries) replace_in_texts(entry.second, marker, value);
}

/// A key of a block for one of SearXNG's modules that makes the module ask for something that the definition
/// does not: a parameter of the module that the definition lacks, or the address of another server.
bool asks_for_else(const CatalogueEntry& entry, const std::string& module, const YamlEntry& given) {
  const std::string& key = given.first.text;
  if (is_one_of(kSharedKeys, key) || is_one_of(kHarmlessKeys, key) || key == "engine") return false;
  const auto values = texts_in(given.second);
  const auto has_host = [&](const std::string& text) {
    const auto parts = parts_of_url(text);
    return !parts || entry.text.find(parts->host) != std::string_view::npos;
  };
  const bool is_address =
      key.ends_with("url") && !values.empty() && values.front().find("://") != std::string::npos;
  if (is_address) return !has_host(values.front());
  return is_searxng_parameter(module, key) && entry.block.find(key) == nullptr;
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
    if (is_python && !is_parameter && asks_for_else(entry, text_below(block, "engine"), given))
      diagnostics.error(given.first.place, "the catalogue's definition \"" + entry.name + "\" has no \"" +
                                               key + "\", which makes SearXNG ask for something else");
    const bool is_kept = is_parameter || is_one_of(kSharedKeys, key);
    if (!is_python || is_kept)
      set_entry(out, key, given.second);
    else if (entry.block.find(key) == nullptr && !is_as_shipped(block, given))
      diagnostics.warning(given.first.place,
                          key + " has no effect on the catalogue's engine \"" + entry.name + "\"");
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

bool is_one_of_modules(const CatalogueEntry& entry, const std::string& module) {
  return std::find(entry.searxng.begin(), entry.searxng.end(), module) != entry.searxng.end();
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
      if (const YamlNode* modules = block.find("searxng")) entry.searxng = texts_in(*modules);
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
      if (is_python ? !is_one_of_modules(entry, type) : entry.name != type) continue;
      const YamlNode* parameters = entry.block.find("parameters");
      if (parameters == nullptr || unserved(*parameters, block, is_python ? type : "") == nullptr)
        return merged(entry, block, is_python, diagnostics);
      if (served_elsewise == nullptr) served_elsewise = &entry;
    }
  if (served_elsewise == nullptr) return std::nullopt;
  const YamlEntry* parameter = unserved(*served_elsewise->block.find("parameters"), block, type);
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
    const auto presets = texts_in(parameter.second);
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
