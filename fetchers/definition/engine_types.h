#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/yaml_reader.h"
#include "fetchers/definition/engine.h"

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

  void error(const std::string& text) { diagnostics.error(map.place(), text); }
  /// At the place of the key, if there is one.
  void error_at(std::string_view key, const std::string& text);
  /// Reports a text that is not right as "KEY: ...", but not a missing key or another type of value, which
  /// have been reported before.
  void check(std::string_view key, bool is_right, const std::string& text);
  void check(std::string_view key, const Result<void>& checked);
};

/// A row of the table of engine types. The name is the value of `engine:` in a definition.
struct EngineType {
  std::string_view name;
  std::string_view meaning;
  std::string_view query_syntax;  ///< for engines that declare none
  /// Takes the keys of this type and fills engine.access; mistakes are added to the diagnostics.
  void (*read)(EngineBlock& block);
};

/// All engine types, in the order of the documentation.
std::span<const EngineType> engine_types();

/// nullptr when there is no type of that name.
const EngineType* find_engine_type(std::string_view name);

inline constexpr std::string_view kLettersAndDigits =
    "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
inline constexpr std::string_view kSmallLettersAndDigits = kLettersAndDigits.substr(0, 36);

/// True for a text of these characters only, and at least one.
bool is_made_of(std::string_view text, std::string_view allowed, std::string_view others = {});

/// The format of the answers of json_engine, xpath or xml_engine; nullopt for any other type.
std::optional<AnswerRules::Format> path_format(std::string_view type);

/// True for an engine that SearXNG ships as Python code, which only SearXNG can run.
bool is_python_engine(std::string_view name);

/// Keys of SearXNG that have no effect here.
std::vector<std::string> unused_searxng_keys();

// The readers, grouped by the file that contains them.
void read_by_paths(EngineBlock& block);  // http_engines.cpp
void read_opensearch_description(EngineBlock& block);
void read_elasticsearch(EngineBlock& block);  // server_engines.cpp
void read_solr(EngineBlock& block);
void read_meilisearch(EngineBlock& block);
void read_mediawiki(EngineBlock& block);
void read_groonga(EngineBlock& block);
void read_omega(EngineBlock& block);
void read_qdrant(EngineBlock& block);
void read_weaviate(EngineBlock& block);
void read_milvus(EngineBlock& block);
void read_pinecone(EngineBlock& block);
void read_vespa(EngineBlock& block);
void read_typesense(EngineBlock& block);
void read_algolia(EngineBlock& block);
void read_searx_engine(EngineBlock& block);  // http_engines.cpp
void read_metafuse(EngineBlock& block);
void read_local(EngineBlock& block);  // engine_types.cpp
void read_local_cosine(EngineBlock& block);
void read_local_vector(EngineBlock& block);
void read_sqlite(EngineBlock& block);
void read_command(EngineBlock& block);
void read_postgresql(EngineBlock& block);  // database_engines.cpp
void read_mariadb(EngineBlock& block);
void read_odbc(EngineBlock& block);

/// Takes the keys common to all HTTP engines: method, headers, cookies, paging and the like, and the parts of
/// a result (`title_query` or `title_xpath`). What the engine type has preset remains where a key is absent.
void take_http_keys(EngineBlock& block, HttpAccess& access);

/// Takes `method`, `request_body` and `json_body`.
void take_request_body(EngineBlock& block, HttpAccess& access);  // request_keys.cpp

/// Takes `auth`.
void take_authorization(EngineBlock& block, HttpAccess& access);  // authorization_keys.cpp

/// Takes the keys that say where a database server is, and the account there.
void take_server(EngineBlock& block, DatabaseAccess& access);  // database_engines.cpp

/// Takes `steps` and `next_page`. Requires that the access has its URL.
void take_chained_requests(EngineBlock& block, HttpAccess& access);

/// True for a valid name of a header.
bool is_header_name(std::string_view name);

/// Reports a path that cannot be evaluated in this format.
void check_path(EngineBlock& block, AnswerRules::Format format, const Place& place, const std::string& path);

/// Takes a map of header names and values, checked to be valid in a header.
StringPairs take_header_fields(EngineBlock& block, std::string_view key);

/// Adds a header with the value of a key, unless that is absent or empty.
void take_key_header(EngineBlock& block, HttpAccess& access, std::string_view header,
                     std::string_view before = {}, std::string_view key = "api_key");

/// Takes `verify`: false, or the file of a certificate authority.
void take_certificates(EngineBlock& block, HttpAccess& access);

/// Reads `embedding:`; mistakes are added to the diagnostics.
/// out:    nullopt when the node is not a map or names an unknown API
std::optional<Embedding> read_embedding(const YamlNode& node, const std::string& folder,
                                        Diagnostics& diagnostics);

/// Converts YAML to JSON: quoted scalars become strings, plain ones whatever JSON reads them as.
Json json_of(const YamlNode& node);

/// Takes `base_url`, without the slash at its end; a missing or invalid one is reported.
std::string take_base_url(EngineBlock& block, const std::string& preset = {});

}  // namespace metafuse::fetchers
