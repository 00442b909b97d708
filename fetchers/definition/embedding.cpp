// Reads `embedding:` of an engine file: the endpoint that turns texts into vectors.

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/near_names.h"
#include "fetchers/definition/engine_types.h"
#include "fetchers/definition/request_template.h"

namespace metafuse::fetchers {
namespace {

struct EmbeddingApi {
  std::string_view name;
  Embedding::Api api;
  std::string_view path;  ///< relative to the base URL
};

constexpr std::array kApis = {
    EmbeddingApi{"openai", Embedding::Api::openai, "/v1/embeddings"},
    EmbeddingApi{"ollama", Embedding::Api::ollama, "/api/embed"},
    EmbeddingApi{"tei", Embedding::Api::tei, "/embed"},
};

const EmbeddingApi* take_api(EngineBlock& block) {
  const YamlNode* node = block.map.take("api");
  const std::string name = block.map.take_string("api").value_or("openai");
  std::vector<std::string> known;
  for (const EmbeddingApi& api : kApis) {
    if (api.name == name) return &api;
    known.emplace_back(api.name);
  }
  if (node != nullptr && node->is_scalar())
    block.diagnostics.error(node->place, "unknown api \"" + name + "\"" + did_you_mean(name, known));
  return nullptr;
}

/// Takes the endpoint's address: `url` is the complete address, `base_url` only the server's.
std::string take_endpoint(EngineBlock& block, const EmbeddingApi& api) {
  const YamlNode* node = block.map.take("url");
  if (node == nullptr) {
    std::string base = take_base_url(block);
    return base.empty() ? base : base + std::string(api.path);
  }
  std::string url = block.map.take_string("url").value_or("");
  if (block.map.take("base_url") != nullptr)
    block.diagnostics.error(node->place, "url and base_url exclude each other; keep one");
  if (const auto checked = check_url_template(url, false); !checked)
    block.diagnostics.error(node->place, "url: " + checked.error().text);
  return url;
}

}  // namespace

std::optional<Embedding> read_embedding(const YamlNode& node, const std::string& folder,
                                        Diagnostics& diagnostics) {
  YamlMap map(node, "embedding", diagnostics);
  if (!node.is_map()) return std::nullopt;
  Engine unused;
  EngineBlock block{map, diagnostics, folder, unused};
  Embedding embedding;
  const EmbeddingApi* api = take_api(block);
  if (api == nullptr) return std::nullopt;
  embedding.api = api->api;
  embedding.access.url = take_endpoint(block, *api);
  embedding.access.method = "POST";
  embedding.access.content_type = "application/json";
  embedding.access.body = R"("{query}")";  // a placeholder for the body that the Embedder writes
  embedding.access.headers = take_header_fields(block, "headers");
  if (const auto key = map.take_string("api_key"); key && !key->empty())
    embedding.access.headers.emplace_back("Authorization", "Bearer " + *key);
  take_certificates(block, embedding.access);
  embedding.model = embedding.api == Embedding::Api::tei ? map.take_string("model").value_or("")
                                                         : map.take_required_string("model");
  embedding.dimensions = static_cast<std::size_t>(map.take_integer("dimensions", 1, 4096).value_or(0));
  embedding.requests_dimensions = map.take_bool("request_dimensions").value_or(false);
  if (embedding.requests_dimensions && (embedding.dimensions == 0 || embedding.api == Embedding::Api::tei))
    diagnostics.error(map.place(), "request_dimensions needs dimensions, and the api openai or ollama");
  embedding.query_prefix = map.take_string("query_prefix").value_or("");
  embedding.document_prefix = map.take_string("document_prefix").value_or("");
  embedding.timeout_seconds = map.take_number("timeout", 0.01, 300).value_or(3);
  map.finish();
  return embedding;
}

}  // namespace metafuse::fetchers
