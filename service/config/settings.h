#pragma once

// How the configuration is read. Each key of the file is one row of a table: its name, the member that its
// value goes to, its range and its meaning. Reading, checking and config_reference() all use these rows.
// Defaults are those of the structs.

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/yaml_reader.h"
#include "service/config/config.h"

namespace metafuse::service {

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;
constexpr double kMaxRate = 1e6;  ///< requests per second

/// The state while one file is read: the configuration so far, its mistakes, and the folder that paths are
/// relative to.
struct ConfigReading {
  ServerConfig config;
  Diagnostics diagnostics;
  std::filesystem::path folder;

  std::string resolve(const std::string& path) const {
    if (path.empty() || std::filesystem::path(path).is_absolute()) return path;
    return (folder / path).lexically_normal().string();
  }
};

/// Reads a value that is not simply a number, a switch, a text or a list of texts.
///
/// in: key - the setting's, for mistakes
using ReadNode = void (*)(const YamlNode& node, const char* key, ConfigReading& reading);

/// A member that holds a path, which the file gives relative to the configuration's folder.
template <class Section>
struct PathMember {
  std::string Section::*member;
};

template <class Section>
struct Setting {
  const char* key;
  std::variant<double Section::*, std::size_t Section::*, unsigned Section::*, bool Section::*,
               std::string Section::*, PathMember<Section>, std::vector<std::string> Section::*, ReadNode>
      value;
  double low = 0;  ///< of a number
  double high = 0;
  const char* meaning;
};

template <class Section>
void read_setting(YamlMap& map, const Setting<Section>& setting, Section& out, ConfigReading& reading) {
  const auto read = [&](auto value) {
    using Value = decltype(value);
    if constexpr (std::is_same_v<Value, ReadNode>) {
      if (const YamlNode* node = map.take(setting.key)) value(*node, setting.key, reading);
    } else if constexpr (std::is_same_v<Value, PathMember<Section>>) {
      if (const auto path = map.take_string(setting.key)) out.*value.member = reading.resolve(*path);
    } else {
      auto& member = out.*value;
      using Member = std::remove_reference_t<decltype(member)>;
      if constexpr (std::is_same_v<Member, double>) {
        member = map.take_number(setting.key, setting.low, setting.high).value_or(member);
      } else if constexpr (std::is_same_v<Member, bool>) {
        member = map.take_bool(setting.key).value_or(member);
      } else if constexpr (std::is_same_v<Member, std::string>) {
        member = map.take_string(setting.key).value_or(member);
      } else if constexpr (std::is_same_v<Member, std::vector<std::string>>) {
        member = map.take_strings(setting.key).value_or(member);
      } else if (const auto number = map.take_integer(setting.key, static_cast<long long>(setting.low),
                                                      static_cast<long long>(setting.high))) {
        member = static_cast<Member>(*number);
      }
    }
  };
  std::visit(read, setting.value);
}

template <class Section, std::size_t N>
void read_settings(YamlMap& map, const Setting<Section> (&settings)[N], Section& out,
                   ConfigReading& reading) {
  for (const Setting<Section>& setting : settings) read_setting(map, setting, out, reading);
}

/// The default of a number; empty if it is beyond the range, and only stands for what the meaning says.
template <class Section, class Number>
std::string default_text(const Setting<Section>& setting, Number value) {
  const auto number = static_cast<double>(value);
  return number < setting.low || number > setting.high ? std::string() : fmt::format(", default {}", value);
}

/// Appends one line per row, with the type, range and default that reading uses.
template <class Section, std::size_t N>
void describe_settings(std::string& out, std::string_view prefix, const Setting<Section> (&settings)[N]) {
  static const Section defaults{};
  for (const Setting<Section>& setting : settings) {
    const auto type = [&](auto value) -> std::string {
      using Value = decltype(value);
      if constexpr (std::is_same_v<Value, ReadNode>) {
        return "";
      } else if constexpr (std::is_same_v<Value, PathMember<Section>>) {
        return "path";
      } else {
        using Member = std::remove_cvref_t<decltype(defaults.*value)>;
        if constexpr (std::is_same_v<Member, bool>)
          return fmt::format("true or false, default {}", defaults.*value);
        else if constexpr (std::is_same_v<Member, std::string>)
          return "string";
        else if constexpr (std::is_same_v<Member, std::vector<std::string>>)
          return "list of strings";
        else
          return fmt::format("{} from {:g} to {:g}{}",
                             std::is_same_v<Member, double> ? "number" : "whole number", setting.low,
                             setting.high, default_text(setting, defaults.*value));
      }
    };
    const std::string form = std::visit(type, setting.value);
    fmt::format_to(std::back_inserter(out), "{}{}: {}{}{}\n", prefix, setting.key, setting.meaning,
                   form.empty() ? "" : "; ", form);
  }
}

// client_settings.cpp

void read_server_names(const YamlNode& node, const char* key, ConfigReading& reading);
void read_cors_origins(const YamlNode& node, const char* key, ConfigReading& reading);
void read_proxies(const YamlNode& node, const char* key, ConfigReading& reading);

// key_settings.cpp

void read_keys(const YamlNode& node, const char* key, ConfigReading& reading);
/// Reads API keys from a separate file. It may not exist yet: servers of one store get it from the store.
/// Mistakes are reported with that file's name and lines.
void read_keys_file(const YamlNode& node, const char* key, ConfigReading& reading);
void describe_keys(std::string& out);

// learning_settings.cpp

void read_learning(const YamlNode& node, const char* key, ConfigReading& reading);
void describe_learning(std::string& out);

}  // namespace metafuse::service
