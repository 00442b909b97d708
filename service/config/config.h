#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/tracking_parameters.h"
#include "service/base/addresses.h"

namespace metafuse::service {

/// Whether the engines' answers are recorded, or replayed from a recording.
struct RecordingsConfig {
  enum class Mode { off, record, replay };
  Mode mode = Mode::off;
  std::string directory;

  friend bool operator==(const RecordingsConfig&, const RecordingsConfig&) = default;
};

/// What the holder of a key may do.
enum class Role { search, judge, write, admin, raw, metrics };

/// Who may read /metrics without a key: clients on this machine, everybody, nobody.
enum class MetricsAccess { loopback, open, key };

/// One API key; the file holds only its digest. A restriction that is left out does not apply.
struct KeyConfig {
  std::string name;
  std::string sha256;  ///< lower-case hexadecimal digest of the key
  std::vector<Role> roles;
  std::uint64_t quota_per_day = 0;     ///< expanded queries per day, 0 for no limit
  std::vector<std::string> domains{};  ///< domains that it may search, judge or manage; empty for all
  std::vector<std::string> engines{};  ///< engines that its searches may ask; empty for all
  std::vector<std::string> tokens{};   ///< of private engines that its searches may ask
  std::string expires{};  ///< "2027-01-31": the last day (UTC) on which it is valid; empty: never expires
  double requests_per_second = 0;  ///< 0 for no limit
  double burst = 20;               ///< requests at once
  std::string place{};             ///< where it is defined: FILE:LINE:COLUMN

  bool has(Role role) const;
  bool may_use_domain(std::string_view domain) const;
  bool may_ask_engine(std::string_view engine) const;
  bool has_token_of(const std::vector<std::string>& accepted) const;
  /// in: now - seconds since 1970
  bool has_expired(std::int64_t now) const;
  friend bool operator==(const KeyConfig&, const KeyConfig&) = default;
};

/// Limits that prevent one client from starving the others.
struct LimitsConfig {
  /// The default: no limit if the server listens on loopback, else kPublicRate.
  static constexpr double kByListen = -1;
  static constexpr double kPublicRate = 10;

  double requests_per_second = kByListen;  ///< per address prefix without a key, 0 for no limit
  double burst = 20;
  double failed_keys_per_minute = 20;  ///< wrong API keys per address prefix, 0 for no limit
  std::size_t max_connections = 2000;
  /// Per address prefix; 0: a quarter of max_connections, without limit for loopback and trusted proxies.
  std::size_t connections_per_client = 0;
  std::size_t max_body_bytes = std::size_t{1} << 20;
  std::size_t max_queue = 16;   ///< searches that wait for a worker before new ones get 503
  double queue_seconds = 0.02;  ///< how long a search waits for a worker before it gets 503
  double header_seconds = 5;
  double body_seconds = 8;
  double idle_seconds = 30;
  double write_seconds = 9;
  double drain_seconds = 10;  ///< at most from SIGTERM to the process's end

  friend bool operator==(const LimitsConfig&, const LimitsConfig&) = default;
};

/// The cache of fused answers.
struct CacheConfig {
  std::size_t entries = 4096;  ///< 0 for no cache
  double seconds = 60;
  std::size_t megabytes = 8;  ///< of all entries together
  std::string redis;          ///< "redis://HOST:PORT/NUMBER" if several processes share the cache, else empty

  friend bool operator==(const CacheConfig&, const CacheConfig&) = default;
};

/// What the store keeps about searches, and for how long.
struct PrivacyConfig {
  bool hash_queries = false;
  double retention_days = 90;

  friend bool operator==(const PrivacyConfig&, const PrivacyConfig&) = default;
};

/// When challengers are trained and promoted, how many searches compare them with the champion, and how
/// clicks count.
struct LearningConfig {
  double retrain_hours = 0;           ///< 0: only on command
  bool is_trained_on_change = false;  ///< soon after judgments or clicks arrived
  bool is_promotion_automatic = false;
  double interleave_share = 0;  ///< of searches, 0 to 1
  double click_half_life_days = 30;
  double clicks_per_address = 20;    ///< largest weight per day of one address prefix
  double clicks_per_key = 200;       ///< largest weight per day of one API key
  bool has_online_reranker = false;  ///< feedback changes the order immediately
  /// A domain without a model of its own is served by what the models of other domains have learned, and
  /// training starts from that.
  bool is_started_from_others = true;
  bool are_judged_first = true;  ///< for a judged query, highly graded results come first and grade 0 last
  std::string judge_model;       ///< a language model whose judgments are learned from, too; empty: none
  double judge_weight = 0.3;     ///< of a query that only the model judged, in relation to people's
  bool is_judge_only = false;    ///< only the model's judgments are learned from
  bool is_judge_calibrated = false;  ///< its grades are read as people's grades say

  friend bool operator==(const LearningConfig&, const LearningConfig&) = default;
};

/// Folders that the server reads into an embedded index, again and again.
struct DocumentsConfig {
  std::string index;  ///< the index's file
  std::vector<std::string> folders;
  double every_seconds = 600;
  std::string base_url;  ///< what the URLs of files begin with; empty: file://localhost/ and their path

  friend bool operator==(const DocumentsConfig&, const DocumentsConfig&) = default;
};

/// Bounds on how long to wait for an engine, once its usual latency is known.
struct LearnedWaitConfig {
  bool is_on = true;
  double floor_seconds = 0.15;
  double ceiling_seconds = 10;

  friend bool operator==(const LearnedWaitConfig&, const LearnedWaitConfig&) = default;
};

/// Who may make the server read web pages, and which addresses it may reach for that.
struct PagesConfig {
  enum class Access { off, key, search };  ///< nobody, clients with a key, clients that may search

  Access access = Access::search;
  std::vector<std::string> allow_private;  ///< host:port that may be reached although not public

  friend bool operator==(const PagesConfig&, const PagesConfig&) = default;
};

/// Pictures beside results. This server fetches them itself, so that other sites do not learn of a search.
struct PicturesConfig {
  bool has_icons = false;                  ///< icons of the results' sites
  bool has_thumbnails = false;             ///< pictures that engines name
  std::vector<std::string> allow_private;  ///< host:port that may be reached although not public

  friend bool operator==(const PicturesConfig&, const PicturesConfig&) = default;
};

/// How an operator's pages differ from those of others.
struct BrandingConfig {
  std::string name = "metafuse";
  std::string logo;    ///< a picture file, shown in place of the name; empty for none
  std::string colour;  ///< "#rrggbb" of the header's line and of marks; empty for the usual one
  std::string footer;  ///< a line of text at the end of each page

  friend bool operator==(const BrandingConfig&, const BrandingConfig&) = default;
};

/// How it is noticed that engines no longer answer as they used to.
struct EngineHealthConfig {
  std::string file;        ///< where the profiles of their answers are kept; empty: only in memory
  bool is_asking = false;  ///< tries engines by known queries once a day

  friend bool operator==(const EngineHealthConfig&, const EngineHealthConfig&) = default;
};

/// Where traces are sent, and of how many requests.
struct TracesConfig {
  std::string url;   ///< of an OpenTelemetry collector, "http://HOST:4318/v1/traces"; empty: none are made
  double share = 1;  ///< of the requests whose caller leaves it open

  friend bool operator==(const TracesConfig&, const TracesConfig&) = default;
};

/// A server configuration: the YAML file whose keys `metafuse config keys` explains. Every path is relative
/// to the working folder.
struct ServerConfig {
  std::string file;  ///< where it was read from
  std::string listen_host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::string default_domain;
  std::vector<std::string> templates;  ///< template files, sorted, with patterns resolved
  std::vector<std::string> engines;    ///< engine files
  std::string models;                  ///< folder of DOMAIN.json, empty for none
  std::string store;                   ///< SQLite file or "postgresql://...", empty for none
  std::string store_secret;            ///< file with the store's secret; empty: the file beside the store
  std::uint64_t store_max_bytes = std::uint64_t{2} << 30;  ///< limit for stored searches; 0 for none
  std::string reports;                                     ///< folder of evaluation reports, empty for none
  RecordingsConfig recordings;
  /// HOST:PORT that engines may reach beyond those in their definitions.
  std::vector<std::string> allow_private;
  std::vector<std::string> server_names;      ///< Host values that are accepted beside `listen` and localhost
  std::vector<AddressRange> trusted_proxies;  ///< proxies whose X-Forwarded-For is trusted
  std::vector<std::string> cors_origins;
  bool needs_key = false;   ///< even searching needs a key
  bool reads_bangs = true;  ///< "!wp" and ":de" in a query choose engines and the language
  MetricsAccess metrics = MetricsAccess::loopback;
  std::vector<KeyConfig> keys;
  /// File with more keys, which the servers of one PostgreSQL store share; empty for none.
  std::string keys_file;
  double deadline_seconds = 3;  ///< time limit for all lists of one search
  LearnedWaitConfig learned_wait;
  EngineHealthConfig engine_health;
  TrackingParameters tracking = default_tracking_parameters();
  unsigned workers = 0;  ///< threads that fetch and score; 0 for 32 per core
  LimitsConfig limits;
  CacheConfig cache;
  PrivacyConfig privacy;
  LearningConfig learning;
  PagesConfig pages;
  PicturesConfig pictures;
  std::vector<DocumentsConfig> documents;
  std::vector<std::string> files;  ///< absolute folders; results that are files below them can be opened
  TracesConfig traces;
  BrandingConfig branding;
  std::vector<std::string> warnings;

  friend bool operator==(const ServerConfig&, const ServerConfig&) = default;
};

/// Reads a server configuration.
///
/// in:     text - YAML; name - the file's path, to whose folder the paths inside are relative
/// errors: bad_config with every mistake as "FILE:LINE:COLUMN: what; what to do", one per line, all at once.
///         A file or pattern that matches nothing is a mistake, too.
Result<ServerConfig> parse_config(std::string_view text, const std::string& name);
Result<ServerConfig> read_config(const std::string& path);

/// Every key of the configuration file, one per line: name, type and range, default, meaning.
std::string config_reference();

/// The roles that a key may have, by their names in the file.
inline constexpr std::pair<std::string_view, Role> kRoles[] = {
    {"search", Role::search}, {"judge", Role::judge}, {"write", Role::write},
    {"admin", Role::admin},   {"raw", Role::raw},     {"metrics", Role::metrics}};
std::optional<Role> role_named(std::string_view name);

/// The media type of a logo by its file's ending; empty for an ending that a logo may not have.
std::string_view picture_type_of(std::string_view file);

/// "HOST:PORT" with HOST a name, an IPv4 address or [IPv6].
struct ListenAddress {
  std::string host;
  std::uint16_t port = 0;
};
Result<ListenAddress> parse_listen(std::string_view text);

}  // namespace metafuse::service
