#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/deadline.h"
#include "core/diagnostics.h"
#include "core/result.h"

namespace metafuse {

struct YamlEntry;

/// A YAML document as plain values with their positions. Anchors are resolved; merge keys (`<<`) are not.
struct YamlNode {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  Place place;
  std::string text;        ///< a scalar's text, as written
  bool is_quoted = false;  ///< a quoted scalar is always a string
  std::vector<YamlNode> items;
  std::vector<YamlEntry> entries;  ///< keys are scalars, in the order of the file

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_list() const { return kind == Kind::list; }
  bool is_map() const { return kind == Kind::map; }
  /// The value under a key of a map, or nullptr.
  const YamlNode* find(std::string_view key) const;
};

/// A key of a map and its value. (Not a std::pair: YamlNode is incomplete here, and clang requires complete
/// members in a pair.)
struct YamlEntry {
  YamlNode first;
  YamlNode second;
};

struct YamlLimits {
  std::size_t max_bytes = std::size_t{1} << 20;
  std::size_t max_depth = 32;
  std::size_t max_nodes = 100'000;
  const Deadline* deadline = nullptr;  ///< when parsing must be finished; nullptr: unlimited
  bool may_repeat_keys = false;        ///< the last of equal keys counts, as in many other parsers
};

/// Parses one YAML document.
///
/// errors: bad_config with "NAME:LINE:COLUMN: ...": a syntax error, duplicate keys (each is reported), keys
///         that are not scalars, more than one document, invalid UTF-8, or a document that exceeds the limits
///         on depth, nodes, bytes or time (an alias counts each time it is used)
Result<YamlNode> parse_yaml(std::string_view text, std::string_view name, const YamlLimits& limits = {});
/// The text of a file that somebody configures us with: as read_text, but unusable contents are bad_config.
Result<std::string> read_config_text(const std::string& path, std::size_t max_bytes);
Result<YamlNode> read_yaml(const std::string& path, const YamlLimits& limits = {});

/// Reads the fields of one map and collects every mistake in `diagnostics`. Construct it, take each field,
/// then call finish(), which reports the keys that were not taken.
class YamlMap {
 public:
  /// `what` names the map in messages, such as "a template". A node that is not a map is reported and treated
  /// as empty.
  YamlMap(const YamlNode& node, std::string_view what, Diagnostics& diagnostics);

  const Place& place() const { return node_->place; }
  /// The value under the key; nullptr when absent.
  const YamlNode* take(std::string_view key);
  /// The same, but an absent key is reported.
  const YamlNode* take_required(std::string_view key);
  std::optional<std::string> take_string(std::string_view key);
  std::string take_required_string(std::string_view key);
  std::optional<bool> take_bool(std::string_view key);
  /// A number within [low, high].
  std::optional<double> take_number(std::string_view key, double low, double high);
  std::optional<long long> take_integer(std::string_view key, long long low, long long high);
  /// A list of scalars, or one scalar as a list of one.
  std::optional<std::vector<std::string>> take_strings(std::string_view key);
  /// A map of scalars to scalars, in the order of the file.
  std::vector<std::pair<std::string, std::string>> take_string_map(std::string_view key);

  /// Reports the keys that were not taken. Keys in `known` only get a warning that they have no effect here.
  void finish(const std::vector<std::string>& known = {});

 private:
  const YamlNode* node_;
  std::string what_;
  Diagnostics* diagnostics_;
  std::vector<std::string> taken_;
};

/// True or false in one of YAML's spellings, unquoted; nullopt for anything else.
std::optional<bool> as_bool(const YamlNode& node);

/// The text of a scalar, also of true, false or a number; nullopt when the node is no scalar, which is
/// reported to `diagnostics` with `what` naming the value.
std::optional<std::string> yaml_string(const YamlNode& node, std::string_view what, Diagnostics& diagnostics);

}  // namespace metafuse
