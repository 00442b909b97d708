#pragma once

// The readers of definitions of engines behind HTTP, and of the keys that these engines share.

#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "fetchers/model/engine_block.h"

namespace metafuse::fetchers {

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

/// The format of the answers of json_engine, xpath or xml_engine; nullopt for any other type.
std::optional<AnswerRules::Format> path_format(std::string_view type);

/// Takes the keys common to all HTTP engines: method, headers, cookies, paging and the like, and the parts of
/// a result (`title_query` or `title_xpath`). What the engine type has preset remains where a key is absent.
void take_http_keys(EngineBlock& block, HttpAccess& access);

/// Takes time-outs, retries and other limits of requests.
void take_request_limits(EngineBlock& block);  // request_keys.cpp

/// Takes `method`, `request_body` and `json_body`. A body without a method is sent by POST.
void take_request_body(EngineBlock& block, HttpAccess& access);  // request_keys.cpp

/// Takes `auth`.
void take_authorization(EngineBlock& block, HttpAccess& access);  // authorization_keys.cpp

/// Takes `steps` and `next_page`. Requires that the access has its URL.
void take_chained_requests(EngineBlock& block, HttpAccess& access);

/// Takes `instances` and `hedge`. Requires that the access has its URL.
void take_instances(EngineBlock& block, HttpAccess& access);

/// True for a valid name of a header.
bool is_header_name(std::string_view name);

/// Reports a path that cannot be evaluated in this format.
void check_path(EngineBlock& block, AnswerRules::Format format, const Place& place, const std::string& path);

/// Takes a map of header names and values, checked to be valid in a header.
StringPairs take_header_fields(EngineBlock& block, std::string_view key);

/// Adds a header with the value of a key, unless that is absent or empty.
void take_key_header(EngineBlock& block, HttpAccess& access, std::string_view header,
                     std::string_view before = {}, std::string_view key = "api_key");

/// Takes `proxy`.
void take_proxy(EngineBlock& block, HttpAccess& access);

/// Takes `verify`: false, or the file of a certificate authority; and `client_certificate`.
void take_certificates(EngineBlock& block, HttpAccess& access);

/// Converts YAML to JSON: quoted scalars become strings, plain ones whatever JSON reads them as.
Json json_of(const YamlNode& node);

/// Takes `base_url`, without the slash at its end; a missing or invalid one is reported.
std::string take_base_url(EngineBlock& block, const std::string& preset = {});

}  // namespace metafuse::fetchers
