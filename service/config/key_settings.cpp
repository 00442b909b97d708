#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "core/text_file.h"
#include "service/base/dates.h"
#include "service/config/settings.h"
#include "service/store/searches.h"

// Reads the configuration's API keys: their roles, scopes, expiry, rates and quotas.

namespace metafuse::service {
namespace {

constexpr Setting<KeyConfig> kKey[] = {
    {"name", &KeyConfig::name, 0, 0, "the key's name in logs, judgments and quotas"},
    {"sha256", &KeyConfig::sha256, 0, 0, "SHA-256 of the key; `metafuse key new` prints name and digest"},
    {"quota_per_day", &KeyConfig::quota_per_day, 0, 1e12, "expanded queries per day; 0 for no limit"},
    {"domains", &KeyConfig::domains, 0, 0, "domains that the key may use; default: all"},
    {"engines", &KeyConfig::engines, 0, 0, "engines that the key's searches may ask; default: all"},
    {"tokens", &KeyConfig::tokens, 0, 0, "tokens of private engines, which the key's searches may ask"},
    {"expires", &KeyConfig::expires, 0, 0, "YYYY-MM-DD: the last day on which the key is valid (UTC)"},
    {"requests_per_second", &KeyConfig::requests_per_second, 0, kMaxRate,
     "requests per second; 0 for no limit"},
    {"burst", &KeyConfig::burst, 1, kMaxRate, "requests that the key may send at once"},
};

void read_roles(YamlMap& map, const YamlNode& node, KeyConfig& key, ConfigReading& reading) {
  const auto names = map.take_strings("roles");
  if (!names) key.roles.push_back(Role::search);
  for (const std::string& name : names.value_or(std::vector<std::string>{})) {
    if (const auto role = role_named(name))
      key.roles.push_back(*role);
    else
      reading.diagnostics.error(
          node.place, "unknown role \"" + name + "\"; roles are search, judge, write, admin, raw, metrics");
  }
}

void read_key(const YamlNode& node, ConfigReading& reading) {
  YamlMap map(node, "a key", reading.diagnostics);
  KeyConfig key;
  key.place = fmt::format("{}:{}:{}", reading.diagnostics.file(), node.place.line, node.place.column);
  for (const char* required : {"name", "sha256"}) static_cast<void>(map.take_required_string(required));
  read_settings(map, kKey, key, reading);
  std::transform(key.sha256.begin(), key.sha256.end(), key.sha256.begin(),
                 [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
  const bool is_digest =
      key.sha256.size() == 64 && key.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!key.sha256.empty() && !is_digest)
    reading.diagnostics.error(
        node.place, "sha256 must be 64 hexadecimal digits; make it with `printf %s KEY | sha256sum`");
  if (!key.expires.empty() && (key.expires.size() != 10 || !moment_of(key.expires)))
    reading.diagnostics.error(node.place,
                              "expires must be a date such as 2027-01-31, not \"" + key.expires + "\"");
  if (key.name.starts_with(kModelJudge))
    reading.diagnostics.error(
        node.place,
        fmt::format("\"{}\" is how judgments of a language model are named; choose another name", key.name));
  read_roles(map, node, key, reading);
  map.finish();
  for (const KeyConfig& other : reading.config.keys)
    if (other.name == key.name)
      reading.diagnostics.error(node.place, "two keys are named \"" + key.name + "\"; rename one");
  reading.config.keys.push_back(std::move(key));
}

}  // namespace

void read_keys(const YamlNode& node, const char*, ConfigReading& reading) {
  if (!node.is_list()) reading.diagnostics.error(node.place, "keys must be a list of {name, sha256, roles}");
  for (const YamlNode& item : node.items) read_key(item, reading);
}

void read_keys_file(const YamlNode& node, const char* key, ConfigReading& reading) {
  const auto path = yaml_string(node, key, reading.diagnostics);
  if (!path) return;
  reading.config.keys_file = reading.resolve(*path);
  const std::string name = reading.config.keys_file;
  std::error_code error;
  if (!std::filesystem::exists(name, error)) return;
  const auto text = read_text(name, kMaxConfigBytes);
  if (!text) return reading.diagnostics.error(node.place, "keys_file: " + text.error().text);
  const auto root = parse_yaml(*text, name);
  if (!root) return reading.diagnostics.error(node.place, "keys_file: " + root.error().text);
  ConfigReading inside{std::move(reading.config), Diagnostics(name), reading.folder};
  YamlMap map(*root, "the file of keys", inside.diagnostics);
  map.take_integer("version", 1, 1);
  if (const YamlNode* keys = map.take("keys")) read_keys(*keys, "keys", inside);
  map.finish();
  reading.config = std::move(inside.config);
  if (inside.diagnostics.has_errors())
    reading.diagnostics.error(node.place, "keys_file: " + inside.diagnostics.to_error(Code::bad_config).text);
}

void describe_keys(std::string& out) {
  describe_settings(out, "keys[].", kKey);
  out +=
      "keys[].roles: what the key may do; list of search, judge, write, admin, raw, metrics, default "
      "search\n";
}

std::optional<Role> role_named(std::string_view name) {
  for (const auto& [role_name, role] : kRoles)
    if (role_name == name) return role;
  return std::nullopt;
}

bool KeyConfig::has(Role role) const {
  return std::find(roles.begin(), roles.end(), role) != roles.end();
}
bool KeyConfig::may_use_domain(std::string_view domain) const {
  return domains.empty() || std::find(domains.begin(), domains.end(), domain) != domains.end();
}
bool KeyConfig::may_ask_engine(std::string_view engine) const {
  return engines.empty() || std::find(engines.begin(), engines.end(), engine) != engines.end();
}
bool KeyConfig::has_token_of(const std::vector<std::string>& accepted) const {
  return std::find_first_of(tokens.begin(), tokens.end(), accepted.begin(), accepted.end()) != tokens.end();
}
bool KeyConfig::has_expired(std::int64_t now) const {
  return !expires.empty() && now >= moment_of(expires).value_or(0) + kSecondsPerDay;
}

}  // namespace metafuse::service
