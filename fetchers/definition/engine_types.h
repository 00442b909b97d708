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

inline constexpr std::size_t kMostSteps = 3;

/// What a reader of engine definitions works on.
struct EngineBlock {
  YamlMap& map;
  Diagnostics& diagnostics;
  std::string folder;  ///< of the file, to which relative paths refer
  Engine& engine;
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

/// Whether the embedded index supports the tokenizer: unicode61, porter or trigram.
bool is_tokenizer(std::string_view name);

/// True for an engine that SearXNG ships as Python code, which only SearXNG can run.
bool is_python_engine(std::string_view name);

/// Keys of SearXNG that have no effect here.
std::vector<std::string> unused_searxng_keys();

// The readers, grouped by the file that contains them.
void read_json_engine(EngineBlock& block);  // http_engines.cpp
void read_xpath_engine(EngineBlock& block);
void read_xml_engine(EngineBlock& block);
void read_opensearch_description(EngineBlock& block);
void read_elasticsearch(EngineBlock& block);  // search_servers.cpp
void read_opensearch(EngineBlock& block);
void read_solr(EngineBlock& block);
void read_meilisearch(EngineBlock& block);
void read_mediawiki(EngineBlock& block);
void read_groonga(EngineBlock& block);
void read_omega(EngineBlock& block);
void read_qdrant(EngineBlock& block);  // vector_servers.cpp
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
void read_mongodb(EngineBlock& block);  // mongodb_engine.cpp

/// Takes the keys common to all HTTP engines: method, headers, cookies, paging and the like, and the parts of
/// a result (`title_query` or `title_xpath`). What the engine type has preset remains where a key is absent.
void take_http_keys(EngineBlock& block, HttpAccess& access);

/// Takes `method`, `request_body` and `json_body`.
void take_request_body(EngineBlock& block, HttpAccess& access);  // request_keys.cpp

/// Takes `auth`.
void take_authorization(EngineBlock& block, HttpAccess& access);  // authorization_keys.cpp

/// Takes `steps` and `next_page`. Requires that the access has its URL.
void take_chained_requests(EngineBlock& block, HttpAccess& access);

/// True for a valid name of a header.
bool is_header_name(std::string_view name);

/// Reports a path that cannot be evaluated in this format.
void check_path(EngineBlock& block, AnswerRules::Format format, const Place& place, const std::string& path);

/// Takes a map of header names and values, checked to be valid in a header.
StringPairs take_header_fields(EngineBlock& block, std::string_view key);

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
