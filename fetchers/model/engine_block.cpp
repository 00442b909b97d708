#include "fetchers/model/engine_block.h"

#include <algorithm>
#include <filesystem>

namespace metafuse::fetchers {

bool is_made_of(std::string_view text, std::string_view allowed, std::string_view others) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return allowed.find(c) != std::string_view::npos || others.find(c) != std::string_view::npos;
  });
}

std::string EngineBlock::text(std::string_view key, std::string_view preset) {
  return map.take_string(key).value_or(std::string(preset));
}

std::vector<std::string> EngineBlock::texts(std::string_view key) {
  return map.take_strings(key).value_or(std::vector<std::string>());
}

void EngineBlock::take(std::string_view key, std::string& value) {
  if (auto text = map.take_string(key)) value = std::move(*text);
}

void EngineBlock::take(std::string_view key, bool& value) {
  value = map.take_bool(key).value_or(value);
}

void EngineBlock::take(std::string_view key, double& value, double low, double high) {
  value = map.take_number(key, low, high).value_or(value);
}

std::string EngineBlock::required_path(std::string_view key) {
  const std::string path = map.take_required_string(key);
  return path.empty() ? path : (std::filesystem::path(folder) / path).string();
}

void take_max_connections(EngineBlock& block) {
  block.take("max_connections", block.engine.max_connections, 1, 1000);
}

void EngineBlock::error_at(std::string_view key, const std::string& text) {
  const YamlNode* node = map.take(key);
  diagnostics.error(node == nullptr ? map.place() : node->place, text);
}

void EngineBlock::check(std::string_view key, bool is_right, const std::string& text) {
  if (const YamlNode* node = map.take(key); !is_right && node != nullptr && node->is_scalar())
    diagnostics.error(node->place, std::string(key) + ": " + text);
}

void EngineBlock::check(std::string_view key, const Result<void>& checked) {
  if (!checked) check(key, false, checked.error().text);
}

}  // namespace metafuse::fetchers
