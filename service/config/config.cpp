#include "service/config/config.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include <glob.h>

#include "core/text_file.h"
#include "core/yaml_reader.h"
#include "service/store/redis_client.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

/// One parse: the value so far, its mistakes, and the folder that paths start from.
struct Reading {
  ServerConfig config;
  Diagnostics diagnostics;
  std::filesystem::path folder;

  std::string resolve(const std::string& path) const {
    if (path.empty() || std::filesystem::path(path).is_absolute()) return path;
    return (folder / path).lexically_normal().string();
  }
};

bool is_postgres(std::string_view text) {
  return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

std::vector<std::string> matching_files(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> files;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  return files;
}

/// Takes a list of files and patterns; each must name at least one file.
std::vector<std::string> take_files(YamlMap& map, const char* key, Reading& reading) {
  std::set<std::string> files;
  const YamlNode* node = map.take(key);
  if (node == nullptr) return {};
  const auto add = [&](const YamlNode& item) {
    const auto text = yaml_string(item, key, reading.diagnostics);
    if (!text) return;
    const auto found = matching_files(reading.resolve(*text));
    if (found.empty())
      reading.diagnostics.error(item.place, std::string(key) + ": no file matches \"" +
                                                reading.resolve(*text) + "\"; correct the path");
    files.insert(found.begin(), found.end());
  };
  if (node->is_list())
    for (const YamlNode& item : node->items) add(item);
  else
    add(*node);
  return {files.begin(), files.end()};
}

std::string take_path(YamlMap& map, const char* key, const Reading& reading) {
  const auto text = map.take_string(key);
  return text ? reading.resolve(*text) : std::string();
}

double take_double(YamlMap& map, const char* key, double low, double high, double fallback) {
  return map.take_number(key, low, high).value_or(fallback);
}

std::size_t take_count(YamlMap& map, const char* key, long long low, long long high, std::size_t fallback) {
  const auto value = map.take_integer(key, low, high);
  return value ? static_cast<std::size_t>(*value) : fallback;
}

void read_recordings(const YamlNode& node, Reading& reading) {
  YamlMap map(node, "recordings", reading.diagnostics);
  RecordingsConfig& out = reading.config.recordings;
  if (const YamlNode* mode = map.take("mode")) {
    if (mode->text == "record")
      out.mode = RecordingsConfig::Mode::record;
    else if (mode->text == "replay")
      out.mode = RecordingsConfig::Mode::replay;
    else if (mode->text != "off")
      reading.diagnostics.error(mode->place, "mode is off, record or replay, not \"" + mode->text + "\"");
  }
  out.directory = take_path(map, "directory", reading);
  if (out.mode != RecordingsConfig::Mode::off && out.directory.empty())
    reading.diagnostics.error(node.place, "recordings need a directory; add `directory: FOLDER`");
  map.finish();
}

void read_limits(const YamlNode& node, Reading& reading) {
  YamlMap map(node, "limits", reading.diagnostics);
  LimitsConfig& out = reading.config.limits;
  out.requests_per_second = take_double(map, "requests_per_second", 0, 1e6, out.requests_per_second);
  out.burst = take_double(map, "burst", 1, 1e6, out.burst);
  out.failed_keys_per_minute = take_double(map, "failed_keys_per_minute", 0, 1e6, out.failed_keys_per_minute);
  out.max_connections = take_count(map, "max_connections", 1, 1'000'000, out.max_connections);
  out.connections_per_client =
      take_count(map, "connections_per_client", 0, 1'000'000, out.connections_per_client);
  out.max_body_bytes = take_count(map, "max_body_bytes", 1024, 64 << 20, out.max_body_bytes);
  out.max_queue = take_count(map, "max_queue", 1, 100'000, out.max_queue);
  out.queue_seconds = take_double(map, "queue_seconds", 0.001, 60, out.queue_seconds);
  out.header_seconds = take_double(map, "header_seconds", 0.05, 600, out.header_seconds);
  out.body_seconds = take_double(map, "body_seconds", 0.05, 600, out.body_seconds);
  out.idle_seconds = take_double(map, "idle_seconds", 0.05, 3600, out.idle_seconds);
  out.write_seconds = take_double(map, "write_seconds", 0.05, 600, out.write_seconds);
  out.drain_seconds = take_double(map, "drain_seconds", 0.1, 3600, out.drain_seconds);
  map.finish();
}

void read_cache(const YamlNode& node, Reading& reading) {
  YamlMap map(node, "cache", reading.diagnostics);
  CacheConfig& out = reading.config.cache;
  out.entries = take_count(map, "entries", 0, 10'000'000, out.entries);
  out.seconds = take_double(map, "seconds", 0, 86400.0 * 30, out.seconds);
  out.megabytes = take_count(map, "megabytes", 1, 1 << 20, out.megabytes);
  if (const YamlNode* redis = map.take("redis")) {
    out.redis = redis->text;
    if (const auto address = parse_redis_url(redis->is_scalar() ? out.redis : ""); !address)
      reading.diagnostics.error(redis->place, address.error().text);
  }
  map.finish();
}

void read_privacy(const YamlNode& node, Reading& reading) {
  YamlMap map(node, "privacy", reading.diagnostics);
  PrivacyConfig& out = reading.config.privacy;
  out.hash_queries = map.take_bool("hash_queries").value_or(out.hash_queries);
  out.retention_days = take_double(map, "retention_days", 0.001, 36500, out.retention_days);
  map.finish();
}

void read_learning(const YamlNode& node, Reading& reading) {
  YamlMap map(node, "learning", reading.diagnostics);
  LearningConfig& out = reading.config.learning;
  out.retrain_hours = take_double(map, "retrain_hours", 0, 24 * 365, out.retrain_hours);
  out.is_promotion_automatic = map.take_bool("automatic_promotion").value_or(out.is_promotion_automatic);
  out.interleave_share = take_double(map, "interleave_share", 0, 1, out.interleave_share);
  out.click_half_life_days = take_double(map, "click_half_life_days", 0.01, 3650, out.click_half_life_days);
  out.clicks_per_address = take_double(map, "clicks_per_address", 0, 1e9, out.clicks_per_address);
  out.clicks_per_key = take_double(map, "clicks_per_key", 0, 1e9, out.clicks_per_key);
  out.has_online_reranker = map.take_bool("online_reranker").value_or(out.has_online_reranker);
  map.finish();
}

void read_learned_wait(const YamlNode& node, Reading& reading) {
  YamlMap map(node, "learned_wait", reading.diagnostics);
  LearnedWaitConfig& out = reading.config.learned_wait;
  out.is_on = map.take_bool("enabled").value_or(out.is_on);
  out.floor_seconds = take_double(map, "floor", 0.001, 120, out.floor_seconds);
  out.ceiling_seconds = take_double(map, "ceiling", 0.001, 120, out.ceiling_seconds);
  if (out.ceiling_seconds < out.floor_seconds)
    reading.diagnostics.error(node.place, "learned_wait: the ceiling is below the floor; raise it");
  map.finish();
}

/// Mistakes in the file that is named are reported with its own places.
void read_tracking(YamlMap& map, Reading& reading) {
  const YamlNode* node = map.take("tracking_parameters");
  if (node == nullptr) return;
  const auto path = yaml_string(*node, "tracking_parameters", reading.diagnostics);
  if (!path) return;
  const std::string file = reading.resolve(*path);
  const auto text = read_text(file, kMaxConfigBytes);
  auto list = text ? parse_tracking_parameters(*text, file) : Result<TrackingParameters>(text.error());
  if (list)
    reading.config.tracking = std::move(*list);
  else
    reading.diagnostics.error(node->place, "tracking_parameters: " + list.error().text);
}

void read_roles(YamlMap& map, const YamlNode& node, KeyConfig& key, Reading& reading) {
  static constexpr std::pair<std::string_view, Role> kRoles[] = {{"search", Role::search},
                                                                 {"judge", Role::judge},
                                                                 {"admin", Role::admin},
                                                                 {"raw", Role::raw},
                                                                 {"metrics", Role::metrics}};
  const auto names = map.take_strings("roles");
  if (!names) key.roles.push_back(Role::search);
  for (const std::string& name : names.value_or(std::vector<std::string>{})) {
    const auto* at = std::find_if(std::begin(kRoles), std::end(kRoles),
                                  [&](const auto& role) { return role.first == name; });
    if (at == std::end(kRoles))
      reading.diagnostics.error(node.place,
                                "no role \"" + name + "\"; roles are search, judge, admin, raw, metrics");
    else
      key.roles.push_back(at->second);
  }
}

void read_key(const YamlNode& node, Reading& reading) {
  YamlMap map(node, "a key", reading.diagnostics);
  KeyConfig key;
  key.name = map.take_required_string("name");
  key.sha256 = map.take_required_string("sha256");
  std::transform(key.sha256.begin(), key.sha256.end(), key.sha256.begin(),
                 [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
  const bool is_digest =
      key.sha256.size() == 64 && key.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!key.sha256.empty() && !is_digest)
    reading.diagnostics.error(node.place,
                              "sha256 is 64 hexadecimal digits; make it with `printf %s KEY | sha256sum`");
  read_roles(map, node, key, reading);
  key.quota_per_day = take_count(map, "quota_per_day", 0, 1'000'000'000'000, 0);
  map.finish();
  for (const KeyConfig& other : reading.config.keys)
    if (other.name == key.name)
      reading.diagnostics.error(node.place, "two keys are named \"" + key.name + "\"; rename one");
  reading.config.keys.push_back(std::move(key));
}

void read_section(YamlMap& map, const char* key, void (*read)(const YamlNode&, Reading&), Reading& reading) {
  if (const YamlNode* node = map.take(key)) read(*node, reading);
}

void read_listen(YamlMap& map, Reading& reading) {
  const YamlNode* node = map.take("listen");
  if (node == nullptr) return;
  auto listen = parse_listen(node->text);
  if (!listen) {
    reading.diagnostics.error(node->place, listen.error().text);
    return;
  }
  reading.config.listen_host = listen->host;
  reading.config.port = listen->port;
}

void read_keys(YamlMap& map, Reading& reading) {
  const YamlNode* node = map.take("keys");
  if (node == nullptr) return;
  if (!node->is_list()) reading.diagnostics.error(node->place, "keys is a list of {name, sha256, roles}");
  for (const YamlNode& item : node->items) read_key(item, reading);
}

void read_proxies(YamlMap& map, Reading& reading) {
  const YamlNode* node = map.take("trusted_proxies");
  if (node == nullptr) return;
  if (!node->is_list()) reading.diagnostics.error(node->place, "trusted_proxies is a list of addresses");
  for (const YamlNode& item : node->items) {
    const auto text = yaml_string(item, "trusted_proxies", reading.diagnostics);
    const auto range = parse_address_range(text.value_or("::"));
    if (range)
      reading.config.trusted_proxies.push_back(*range);
    else
      reading.diagnostics.error(item.place, "trusted_proxies: " + range.error().text);
  }
}

void read_metrics(YamlMap& map, Reading& reading) {
  const YamlNode* node = map.take("metrics");
  if (node == nullptr) return;
  if (node->text == "loopback")
    reading.config.metrics = MetricsAccess::loopback;
  else if (node->text == "open")
    reading.config.metrics = MetricsAccess::open;
  else if (node->text == "key")
    reading.config.metrics = MetricsAccess::key;
  else
    reading.diagnostics.error(node->place, "metrics is loopback, open or key, not \"" + node->text + "\"");
}

void read_paths(YamlMap& map, Reading& reading) {
  ServerConfig& out = reading.config;
  out.templates = take_files(map, "templates", reading);
  if (out.templates.empty() && !reading.diagnostics.has_errors())
    reading.diagnostics.error(map.place(), "no templates; add `templates: [templates/*.yaml]`");
  out.engines = take_files(map, "engines", reading);
  out.models = take_path(map, "models", reading);
  out.reports = take_path(map, "reports", reading);
  const std::string store = map.take_string("store").value_or("");
  out.store = is_postgres(store) ? store : reading.resolve(store);
}

void read_root(const YamlNode& root, Reading& reading) {
  YamlMap map(root, "the server configuration", reading.diagnostics);
  ServerConfig& out = reading.config;
  map.take_integer("version", 1, 1);
  read_listen(map, reading);
  out.default_domain = map.take_string("default_domain").value_or("");
  read_paths(map, reading);
  read_section(map, "recordings", read_recordings, reading);
  out.allow_private = map.take_strings("allow_private").value_or(out.allow_private);
  out.server_names = map.take_strings("server_names").value_or(out.server_names);
  read_proxies(map, reading);
  out.cors_origins = map.take_strings("cors_origins").value_or(out.cors_origins);
  out.needs_key = map.take_bool("needs_key").value_or(false);
  read_keys(map, reading);
  read_metrics(map, reading);
  out.deadline_seconds = take_double(map, "deadline", 0.01, 120, out.deadline_seconds);
  out.workers = static_cast<unsigned>(take_count(map, "workers", 0, 1024, 0));
  read_section(map, "learned_wait", read_learned_wait, reading);
  read_tracking(map, reading);
  read_section(map, "limits", read_limits, reading);
  read_section(map, "cache", read_cache, reading);
  read_section(map, "privacy", read_privacy, reading);
  read_section(map, "learning", read_learning, reading);
  map.finish();
}

}  // namespace

bool KeyConfig::has(Role role) const {
  return std::find(roles.begin(), roles.end(), role) != roles.end();
}

Result<ListenAddress> parse_listen(std::string_view text) {
  const auto wrong = [&] {
    return fail(Code::bad_config,
                "listen is HOST:PORT such as 127.0.0.1:8080 or [::1]:0, not \"" + std::string(text) + "\"");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return wrong();
  ListenAddress out;
  out.host = std::string(text.substr(0, colon));
  if (out.host.front() == '[') {
    if (out.host.back() != ']') return wrong();
    out.host = out.host.substr(1, out.host.size() - 2);
  } else if (out.host.find(':') != std::string::npos) {
    return wrong();
  }
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (error != std::errc() || end != port.data() + port.size() || out.host.empty()) return wrong();
  return out;
}

Result<ServerConfig> parse_config(std::string_view text, const std::string& name) {
  TRY(auto root, parse_yaml(text, name));
  Reading reading{{}, Diagnostics(name), std::filesystem::path(name).parent_path()};
  reading.config.file = name;
  read_root(root, reading);
  if (reading.diagnostics.has_errors()) return reading.diagnostics.to_error(Code::bad_config);
  reading.config.warnings = reading.diagnostics.warnings();
  return std::move(reading.config);
}

Result<ServerConfig> read_config(const std::string& path) {
  TRY(auto text, read_text(path, kMaxConfigBytes));
  return parse_config(text, path);
}

}  // namespace metafuse::service
