#include "service/config/config.h"

#include <charconv>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <glob.h>

#include "core/number.h"
#include "core/text_file.h"
#include "core/url.h"
#include "fetchers/engines/index/document_files.h"
#include "fetchers/http/address_guard.h"
#include "service/config/settings.h"
#include "service/store/redis_client.h"
#include "service/store/store.h"

namespace metafuse::service {
namespace {

constexpr double kMaxCount = 1e15;

constexpr Setting<LimitsConfig> kLimits[] = {
    {"requests_per_second", &LimitsConfig::requests_per_second, 0, kMaxRate,
     "per address prefix without a key; 0 for no limit; if not set, 10 when listening beyond loopback, else "
     "none"},
    {"burst", &LimitsConfig::burst, 1, kMaxRate, "requests that an address prefix may send at once"},
    {"failed_keys_per_minute", &LimitsConfig::failed_keys_per_minute, 0, kMaxRate,
     "wrong API keys per minute and address prefix; 0 for no limit"},
    {"max_connections", &LimitsConfig::max_connections, 1, 1e6, "connections open at once"},
    {"connections_per_client", &LimitsConfig::connections_per_client, 0, 1e6,
     "connections open at once per address prefix; 0 for a quarter of max_connections, and for all of them "
     "on loopback"},
    {"max_body_bytes", &LimitsConfig::max_body_bytes, 1024, 64 << 20, "size of a request's body"},
    {"max_queue", &LimitsConfig::max_queue, 1, 1e5,
     "searches that may wait for a worker; further ones get 503"},
    {"queue_seconds", &LimitsConfig::queue_seconds, 0.001, 60,
     "how long a search waits for a worker before it gets 503"},
    {"header_seconds", &LimitsConfig::header_seconds, 0.05, 600,
     "time for a client to send a request's header"},
    {"body_seconds", &LimitsConfig::body_seconds, 0.05, 600, "time for a client to send a request's body"},
    {"idle_seconds", &LimitsConfig::idle_seconds, 0.05, 3600, "time between two requests on a connection"},
    {"write_seconds", &LimitsConfig::write_seconds, 0.05, 600, "time for a client to read an answer"},
    {"drain_seconds", &LimitsConfig::drain_seconds, 0.1, 3600,
     "after SIGTERM the process ends within this time, even if requests hang"},
};

/// Reads one of several names.
template <class Value, std::size_t N>
void read_choice(const YamlNode& node, const char* key,
                 const std::pair<std::string_view, Value> (&choices)[N], Value& out, ConfigReading& reading) {
  std::string names;
  for (std::size_t i = 0; i < N; ++i) {
    const auto& [name, value] = choices[i];
    if (node.text == name) {
      out = value;
      return;
    }
    names += i == 0 ? "" : i + 1 < N ? ", " : " or ";
    names += name;
  }
  reading.diagnostics.error(node.place, fmt::format("{} must be {}, not \"{}\"", key, names, node.text));
}

/// Reads a section of the file that is a struct of the configuration.
template <auto Member, const auto& Settings>
void read_part(const YamlNode& node, const char* key, ConfigReading& reading) {
  YamlMap map(node, key, reading.diagnostics);
  read_settings(map, Settings, reading.config.*Member, reading);
  map.finish();
}

/// As read_part(), for the sections of what reads other sites. Checks their addresses.
template <auto Member, const auto& Settings>
void read_reader(const YamlNode& node, const char* key, ConfigReading& reading) {
  read_part<Member, Settings>(node, key, reading);
  if (const auto guard = fetchers::AddressGuard::make((reading.config.*Member).allow_private); !guard)
    reading.diagnostics.error(node.place, fmt::format("{}: {}", key, guard.error().text));
}

void read_redis(const YamlNode& node, const char*, ConfigReading& reading) {
  std::string& redis = reading.config.cache.redis;
  redis = node.text;
  if (const auto address = parse_redis_url(node.is_scalar() ? redis : ""); !address)
    reading.diagnostics.error(node.place, address.error().text);
}

constexpr Setting<CacheConfig> kCache[] = {
    {"entries", &CacheConfig::entries, 0, 1e7, "number of answers that are kept; 0 for no cache"},
    {"seconds", &CacheConfig::seconds, 0, 86400.0 * 30, "how long an answer is kept"},
    {"megabytes", &CacheConfig::megabytes, 1, 1 << 20, "size of all entries together"},
    {"redis", &read_redis, 0, 0, "redis://HOST:PORT/NUMBER if several processes share the cache"},
};

constexpr Setting<PrivacyConfig> kPrivacy[] = {
    {"hash_queries", &PrivacyConfig::hash_queries, 0, 0,
     "store digests in place of queries and of results' addresses"},
    {"retention_days", &PrivacyConfig::retention_days, 0.001, 36500,
     "how long searches and clicks are stored"},
};

constexpr Setting<EngineHealthConfig> kEngineHealth[] = {
    {"file", PathMember<EngineHealthConfig>{&EngineHealthConfig::file}, 0, 0,
     "file in which the usual shape of each engine's answers is kept; without it, it is lost at the end"},
    {"ask_daily", &EngineHealthConfig::is_asking, 0, 0,
     "whether engines without a key are tried once a day, at random times, by queries that they know"},
};

constexpr Setting<LearnedWaitConfig> kLearnedWait[] = {
    {"enabled", &LearnedWaitConfig::is_on, 0, 0, "wait for each engine about as long as it usually takes"},
    {"floor", &LearnedWaitConfig::floor_seconds, 0.001, 120, "shortest wait in seconds"},
    {"ceiling", &LearnedWaitConfig::ceiling_seconds, 0.001, 120, "longest wait in seconds"},
};

void read_mode(const YamlNode& node, const char* key, ConfigReading& reading) {
  using enum RecordingsConfig::Mode;
  read_choice(node, key, {{"off", off}, {"record", record}, {"replay", replay}},
              reading.config.recordings.mode, reading);
}

constexpr Setting<RecordingsConfig> kRecordings[] = {
    {"mode", &read_mode, 0, 0, "off (the default), record or replay: what to do with engines' answers"},
    {"directory", PathMember<RecordingsConfig>{&RecordingsConfig::directory}, 0, 0,
     "folder of the recordings"},
};

void read_listen(const YamlNode& node, const char*, ConfigReading& reading) {
  auto listen = parse_listen(node.text);
  if (!listen) return reading.diagnostics.error(node.place, listen.error().text);
  reading.config.listen_host = listen->host;
  reading.config.port = listen->port;
}

/// Reads file names and patterns. Each must match at least one file.
template <std::vector<std::string> ServerConfig::*Member>
void read_files(const YamlNode& node, const char* key, ConfigReading& reading) {
  std::set<std::string> files;
  const auto add = [&](const YamlNode& item) {
    const auto text = yaml_string(item, key, reading.diagnostics);
    if (!text) return;
    const std::string pattern = reading.resolve(*text);
    glob_t found{};
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
      files.insert(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    else
      reading.diagnostics.error(item.place,
                                fmt::format("{}: no file matches \"{}\"; correct the path", key, pattern));
    ::globfree(&found);
  };
  if (node.is_list())
    for (const YamlNode& item : node.items) add(item);
  else
    add(node);
  reading.config.*Member = {files.begin(), files.end()};
}

void read_store(const YamlNode& node, const char* key, ConfigReading& reading) {
  const std::string store = yaml_string(node, key, reading.diagnostics).value_or("");
  reading.config.store = is_postgres_url(store) ? store : reading.resolve(store);
}

/// Reads folders and makes their paths absolute, as file: URLs have them.
void read_shared_folders(const YamlNode& node, const char* key, ConfigReading& reading) {
  const std::vector<YamlNode> one = {node};
  for (const YamlNode& item : node.is_list() ? node.items : one) {
    const auto text = yaml_string(item, key, reading.diagnostics);
    if (!text) continue;
    std::error_code error;
    const auto folder = std::filesystem::absolute(reading.resolve(*text), error).lexically_normal();
    if (text->empty() || !std::filesystem::is_directory(folder, error))
      reading.diagnostics.error(item.place,
                                fmt::format("files: \"{}\" is not a folder; correct the path", *text));
    else if (folder == folder.root_path())
      reading.diagnostics.error(
          item.place, "files: the root folder would expose all files of this machine; name a smaller folder");
    else
      reading.config.files.push_back(folder.string());
  }
}

/// Reads a time such as 90s, 10m, 2h or 1d; a number without unit is seconds.
std::optional<double> seconds_of(std::string_view text) {
  constexpr std::pair<char, double> kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
  double factor = 1;
  for (const auto& [unit, seconds] : kUnits)
    if (!text.empty() && text.back() == unit) {
      factor = seconds;
      text.remove_suffix(1);
      break;
    }
  double number = 0;
  if (!to_double(text, number) || number * factor < 1 || number * factor > 30 * 86400.0) return std::nullopt;
  return number * factor;
}

constexpr Setting<DocumentsConfig> kDocuments[] = {
    {"index", PathMember<DocumentsConfig>{&DocumentsConfig::index}, 0, 0, "the index's file"},
    {"folders", &DocumentsConfig::folders, 0, 0, "folders and files that are read into it"},
    {"base_url", &DocumentsConfig::base_url, 0, 0,
     "what the addresses of files begin with; default: file://localhost/ and their path"},
};

void read_folders(const YamlNode& item, DocumentsConfig& out, ConfigReading& reading) {
  for (std::string& folder : out.folders) {
    std::error_code error;
    const auto path = std::filesystem::absolute(reading.resolve(folder), error).lexically_normal();
    if (!std::filesystem::exists(path, error))
      reading.diagnostics.error(item.place,
                                fmt::format("documents: \"{}\" does not exist; correct the path", folder));
    folder = path.string();
  }
  if (out.folders.empty())
    reading.diagnostics.error(item.place, "documents: name what to read with `folders: [FOLDER, ...]`");
}

/// Reads one {index, folders, every, base_url}.
void read_documents_item(const YamlNode& item, const char* key, ConfigReading& reading) {
  YamlMap map(item, key, reading.diagnostics);
  DocumentsConfig out;
  read_settings(map, kDocuments, out, reading);
  if (out.index.empty())
    reading.diagnostics.error(item.place, "documents: name the index with `index: FILE`");
  for (const DocumentsConfig& other : reading.config.documents)
    if (!out.index.empty() && other.index == out.index)
      reading.diagnostics.error(
          item.place,
          fmt::format("documents: another entry reads \"{}\"; name all of its folders there", out.index));
  read_folders(item, out, reading);
  if (const auto every = map.take_string("every")) {
    if (const auto seconds = seconds_of(*every))
      out.every_seconds = *seconds;
    else
      reading.diagnostics.error(item.place,
                                fmt::format("documents: every must be a time from 1s to 30d such as "
                                            "10m, not \"{}\"",
                                            *every));
  }
  if (const auto checked = fetchers::check_base_url(out.base_url, "documents: base_url"); !checked)
    reading.diagnostics.error(item.place, checked.error().text);
  map.finish();
  reading.config.documents.push_back(std::move(out));
}

void read_documents(const YamlNode& node, const char* key, ConfigReading& reading) {
  if (!node.is_list())
    return reading.diagnostics.error(node.place, "documents must be a list of {index, folders, every}");
  for (const YamlNode& item : node.items) read_documents_item(item, key, reading);
}

void read_metrics(const YamlNode& node, const char* key, ConfigReading& reading) {
  read_choice(
      node, key,
      {{"loopback", MetricsAccess::loopback}, {"open", MetricsAccess::open}, {"key", MetricsAccess::key}},
      reading.config.metrics, reading);
}

/// Reads the file of tracking parameters. Its mistakes are reported with that file's name and lines.
void read_tracking(const YamlNode& node, const char* key, ConfigReading& reading) {
  const auto path = yaml_string(node, key, reading.diagnostics);
  if (!path) return;
  const std::string file = reading.resolve(*path);
  const auto text = read_text(file, kMaxConfigBytes);
  auto list = text ? parse_tracking_parameters(*text, file) : Result<TrackingParameters>(text.error());
  if (list) {
    list->same_page = reading.config.tracking.same_page;
    reading.config.tracking = std::move(*list);
  } else {
    reading.diagnostics.error(node.place, "tracking_parameters: " + list.error().text);
  }
}

/// Reads the user's rules for addresses of one page, which come before the built-in ones.
void read_same_page(const YamlNode& node, const char* key, ConfigReading& reading) {
  const auto path = yaml_string(node, key, reading.diagnostics);
  if (!path) return;
  const std::string file = reading.resolve(*path);
  const auto text = read_text(file, kMaxConfigBytes);
  const auto rules =
      text ? SamePageRules::parse(*text, file) : Result<std::shared_ptr<const SamePageRules>>(text.error());
  if (rules)
    reading.config.tracking.same_page = SamePageRules::joined(**rules, *built_in_same_page_rules());
  else
    reading.diagnostics.error(node.place, "same_page: " + rules.error().text);
}

void read_recordings(const YamlNode& node, const char* key, ConfigReading& reading) {
  read_part<&ServerConfig::recordings, kRecordings>(node, key, reading);
  const RecordingsConfig& out = reading.config.recordings;
  if (out.mode != RecordingsConfig::Mode::off && out.directory.empty())
    reading.diagnostics.error(node.place, "recordings need a directory; add `directory: FOLDER`");
}

void read_learned_wait(const YamlNode& node, const char* key, ConfigReading& reading) {
  read_part<&ServerConfig::learned_wait, kLearnedWait>(node, key, reading);
  const LearnedWaitConfig& out = reading.config.learned_wait;
  if (out.ceiling_seconds < out.floor_seconds)
    reading.diagnostics.error(node.place, "learned_wait: the ceiling is below the floor; raise the ceiling");
}

void read_page_access(const YamlNode& node, const char* name, ConfigReading& reading) {
  using enum PagesConfig::Access;
  read_choice(node, name, {{"off", off}, {"key", key}, {"search", search}}, reading.config.pages.access,
              reading);
}

constexpr Setting<PagesConfig> kPages[] = {
    {"access", &read_page_access, 0, 0,
     "who may read pages: off (nobody), key (whoever has a key) or search (whoever may search; the default)"},
    {"allow_private", &PagesConfig::allow_private, 0, 0,
     "host:port of non-public addresses whose pages may be read"},
};

constexpr Setting<PicturesConfig> kPictures[] = {
    {"icons", &PicturesConfig::has_icons, 0, 0, "show icons of the results' sites"},
    {"thumbnails", &PicturesConfig::has_thumbnails, 0, 0, "show thumbnails that engines name"},
    {"allow_private", &PicturesConfig::allow_private, 0, 0,
     "host:port of non-public addresses whose pictures may be fetched"},
};

constexpr Setting<TracesConfig> kTraces[] = {
    {"url", &TracesConfig::url, 0, 0, "an OpenTelemetry collector, such as http://HOST:4318/v1/traces"},
    {"share", &TracesConfig::share, 0, 1, "share of requests to trace if the caller sends no traceparent"},
};

void read_traces(const YamlNode& node, const char* key, ConfigReading& reading) {
  read_part<&ServerConfig::traces, kTraces>(node, key, reading);
  const std::string& url = reading.config.traces.url;
  if (!url.empty() && !parts_of_url(url))
    reading.diagnostics.error(node.place, fmt::format("traces: \"{}\" is not a collector's URL; write "
                                                      "http://HOST:4318/v1/traces",
                                                      url));
}

constexpr Setting<BrandingConfig> kBranding[] = {
    {"name", &BrandingConfig::name, 0, 0, "the name at the top of each page and in titles; metafuse"},
    {"logo", PathMember<BrandingConfig>{&BrandingConfig::logo}, 0, 0,
     "a picture in place of the name: SVG, PNG, WebP or JPEG of at most 256 KB"},
    {"colour", &BrandingConfig::colour, 0, 0, "\"#rrggbb\", of the line below the header and of marks"},
    {"footer", &BrandingConfig::footer, 0, 0, "a line of text at the end of each page"},
};

void read_branding(const YamlNode& node, const char* key, ConfigReading& reading) {
  read_part<&ServerConfig::branding, kBranding>(node, key, reading);
  const BrandingConfig& out = reading.config.branding;
  const bool is_colour = out.colour.size() == 7 && out.colour.front() == '#' &&
                         out.colour.find_first_not_of("0123456789abcdefABCDEF", 1) == std::string::npos;
  if (!out.colour.empty() && !is_colour)
    reading.diagnostics.error(
        node.place, fmt::format("branding: the colour \"{}\" must be like \"#1d63c4\"", out.colour));
  if (!out.logo.empty() && picture_type_of(out.logo).empty())
    reading.diagnostics.error(
        node.place, fmt::format("branding: \"{}\" must end in .svg, .png, .webp or .jpg", out.logo));
}

using Path = PathMember<ServerConfig>;

constexpr Setting<ServerConfig> kServer[] = {
    {"listen", &read_listen, 0, 0, "HOST:PORT, default 127.0.0.1:8080; port 0 takes a free one"},
    {"default_domain", &ServerConfig::default_domain, 0, 0,
     "domain that is searched if a request names none"},
    {"templates", &read_files<&ServerConfig::templates>, 0, 0,
     "template files and patterns, one file per domain"},
    {"engines", &read_files<&ServerConfig::engines>, 0, 0, "engine files and patterns"},
    {"models", Path{&ServerConfig::models}, 0, 0, "folder of the models, DOMAIN.json"},
    {"reports", Path{&ServerConfig::reports}, 0, 0, "folder of evaluation reports"},
    {"store", &read_store, 0, 0, "SQLite file or postgresql://..."},
    {"store_secret", Path{&ServerConfig::store_secret}, 0, 0,
     "file with the store's secret; default: STORE.secret beside an SQLite file"},
    {"store_max_bytes", &ServerConfig::store_max_bytes, 0, kMaxCount,
     "size of stored searches; the oldest are removed to make room; 0 for no limit"},
    {"recordings", &read_recordings, 0, 0, "record engines' answers or replay them"},
    {"allow_private", &ServerConfig::allow_private, 0, 0,
     "host:port that engines may reach besides their own"},
    {"server_names", &read_server_names, 0, 0,
     "list of Host values that are accepted besides listen: HOST, HOST:PORT or \"*\""},
    {"trusted_proxies", &read_proxies, 0, 0, "addresses whose X-Forwarded-For is trusted"},
    {"cors_origins", &read_cors_origins, 0, 0,
     "list of origins whose pages may send requests: https://HOST[:PORT] or \"*\""},
    {"needs_key", &ServerConfig::needs_key, 0, 0, "whether searching needs a key"},
    {"bangs", &ServerConfig::reads_bangs, 0, 0,
     "whether !wp, !images and :de in a query choose engines, a domain and a language, as in SearXNG"},
    {"keys", &read_keys, 0, 0, "list of API keys"},
    {"keys_file", &read_keys_file, 0, 0,
     "file of further keys (`keys:`), which servers of one PostgreSQL store share"},
    {"metrics", &read_metrics, 0, 0, "who reads /metrics without a key: loopback (the default), open or key"},
    {"deadline", &ServerConfig::deadline_seconds, 0.01, 120,
     "time limit in seconds for all lists of one search"},
    {"workers", &ServerConfig::workers, 0, 1024, "threads that fetch and score; 0 for 32 per core"},
    {"learned_wait", &read_learned_wait, 0, 0, "how long to wait for each engine"},
    {"engine_health", &read_part<&ServerConfig::engine_health, kEngineHealth>, 0, 0,
     "whether engines still answer as they used to"},
    {"tracking_parameters", &read_tracking, 0, 0, "file of URL parameters that do not identify a page"},
    {"same_page", &read_same_page, 0, 0, "file of rules for addresses that lead to the same page"},
    {"limits", &read_part<&ServerConfig::limits, kLimits>, 0, 0,
     "limits that keep one client from starving the others"},
    {"cache", &read_part<&ServerConfig::cache, kCache>, 0, 0, "cache of fused answers"},
    {"privacy", &read_part<&ServerConfig::privacy, kPrivacy>, 0, 0, "what the store keeps about searches"},
    {"learning", &read_learning, 0, 0, "training models from feedback"},
    {"traces", &read_traces, 0, 0, "OpenTelemetry traces by OTLP over HTTP; off by default"},
    {"fetch_pages", &read_reader<&ServerConfig::pages, kPages>, 0, 0,
     "reading pages for agents: fetch_page and /extract"},
    {"pictures", &read_reader<&ServerConfig::pictures, kPictures>, 0, 0,
     "pictures beside results, fetched by this server"},
    {"documents", &read_documents, 0, 0,
     "folders that the server reads into an embedded index: a list of {index, folders, every, base_url}"},
    {"files", &read_shared_folders, 0, 0, "folders whose files can be opened from results"},
    {"branding", &read_branding, 0, 0, "name, logo, colour and footer of the pages"},
};

void read_root(const YamlNode& root, ConfigReading& reading) {
  YamlMap map(root, "the server configuration", reading.diagnostics);
  ServerConfig& out = reading.config;
  map.take_integer("version", 1, 1);
  read_settings(map, kServer, out, reading);
  if (root.find("templates") == nullptr && !reading.diagnostics.has_errors())
    reading.diagnostics.error(
        map.place(), "no templates; add `templates: [templates/*.yaml]`, or [] as long as there are none");
  if (out.privacy.hash_queries && is_postgres_url(out.store) && out.store_secret.empty())
    reading.diagnostics.error(
        map.place(), "hash_queries needs the secret to be outside the database; add `store_secret: FILE`");
  map.finish();
}

}  // namespace

std::string config_reference() {
  std::string out;
  describe_settings(out, "", kServer);
  describe_keys(out);
  describe_settings(out, "recordings.", kRecordings);
  describe_settings(out, "learned_wait.", kLearnedWait);
  describe_settings(out, "engine_health.", kEngineHealth);
  describe_settings(out, "limits.", kLimits);
  describe_settings(out, "cache.", kCache);
  describe_settings(out, "privacy.", kPrivacy);
  describe_learning(out);
  describe_settings(out, "fetch_pages.", kPages);
  describe_settings(out, "pictures.", kPictures);
  describe_settings(out, "documents[].", kDocuments);
  out +=
      "documents[].every: how often the folders are read; a time from 1s to 30d such as 90s, 10m or 2h, "
      "default 10m\n";
  describe_settings(out, "traces.", kTraces);
  describe_settings(out, "branding.", kBranding);
  return out;
}

std::string_view picture_type_of(std::string_view file) {
  for (const auto& [ending, type] : {std::pair<std::string_view, std::string_view>{".svg", "image/svg+xml"},
                                     {".png", "image/png"},
                                     {".webp", "image/webp"},
                                     {".jpg", "image/jpeg"}})
    if (file.ends_with(ending)) return type;
  return {};
}

Result<ListenAddress> parse_listen(std::string_view text) {
  const auto wrong = [&] {
    return fail(Code::bad_config, "listen must be HOST:PORT such as 127.0.0.1:8080 or [::1]:0, not \"" +
                                      std::string(text) + "\"");
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
  ConfigReading reading{{}, Diagnostics(name), std::filesystem::path(name).parent_path()};
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
