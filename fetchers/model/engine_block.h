#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/yaml_reader.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

/// What a reader of engine definitions works on: the keys of a map, and the engine that they define.
struct EngineBlock {
  YamlMap map;
  Diagnostics& diagnostics;
  std::string folder;  ///< of the file, to which relative paths refer
  Engine& engine;

  /// A map below a key of this one; `what` names it in messages.
  EngineBlock inner(const YamlNode& node, std::string_view what) const {
    return {YamlMap(node, what, diagnostics), diagnostics, folder, engine};
  }

  /// The text or texts of a key; the preset or none when it is absent or of another type, which is reported.
  std::string text(std::string_view key, std::string_view preset = {});
  std::vector<std::string> texts(std::string_view key);

  // Each replaces the value by that of the key, if there is one.
  void take(std::string_view key, std::string& value);
  void take(std::string_view key, bool& value);
  void take(std::string_view key, double& value, double low, double high);
  template <class Integer>
  void take(std::string_view key, Integer& value, long long low, long long high) {
    if (const auto number = map.take_integer(key, low, high)) value = static_cast<Integer>(*number);
  }

  /// The path in a key that must be there, relative to the file's folder; empty when it is missing.
  std::string required_path(std::string_view key);

  void error(const std::string& text) { diagnostics.error(map.place(), text); }
  /// At the place of the key, if there is one.
  void error_at(std::string_view key, const std::string& text);
  /// Reports a text that is not right as "KEY: ...", but not a missing key or another type of value, which
  /// have been reported before.
  void check(std::string_view key, bool is_right, const std::string& text);
  void check(std::string_view key, const Result<void>& checked);
};

/// `max_connections`, of an engine whose searches wait for another program.
void take_max_connections(EngineBlock& block);

inline constexpr std::string_view kLettersAndDigits =
    "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
inline constexpr std::string_view kSmallLettersAndDigits = kLettersAndDigits.substr(0, 36);

/// True for a text of these characters only, and at least one.
bool is_made_of(std::string_view text, std::string_view allowed, std::string_view others = {});

}  // namespace metafuse::fetchers
