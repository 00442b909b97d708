#include "fetchers/engines/vector/embedding.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/text.h"
#include "fetchers/engines/http/http_readers.h"
#include "fetchers/http/request_template.h"

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
  const std::string name = block.text("api", "openai");
  std::vector<std::string> known;
  for (const EmbeddingApi& api : kApis) {
    if (api.name == name) return &api;
    known.emplace_back(api.name);
  }
  block.error_at("api", "unknown api \"" + name + "\"" + did_you_mean(name, known));
  return nullptr;
}

/// Takes the endpoint's address: `url` is the complete address, `base_url` only the server's.
std::string take_endpoint(EngineBlock& block, const EmbeddingApi& api) {
  if (block.map.take("url") == nullptr) {
    std::string base = take_base_url(block);
    return base.empty() ? base : base + std::string(api.path);
  }
  std::string url = block.text("url");
  if (block.map.take("base_url") != nullptr)
    block.error_at("url", "url and base_url exclude each other; keep one");
  block.check("url", check_url_template(url, false));
  return url;
}

}  // namespace

std::optional<Embedding> read_embedding(const YamlNode& node, const std::string& folder,
                                        Diagnostics& diagnostics) {
  Engine unused;
  EngineBlock block{YamlMap(node, "embedding", diagnostics), diagnostics, folder, unused};
  if (!node.is_map()) return std::nullopt;
  Embedding embedding;
  const EmbeddingApi* api = take_api(block);
  if (api == nullptr) return std::nullopt;
  embedding.api = api->api;
  embedding.access.url = take_endpoint(block, *api);
  embedding.access.method = "POST";
  embedding.access.content_type = "application/json";
  embedding.access.body = R"("{query}")";  // a placeholder for the body that the Embedder writes
  embedding.access.headers = take_header_fields(block, "headers");
  take_key_header(block, embedding.access, "Authorization", "Bearer ");
  take_certificates(block, embedding.access);
  take_proxy(block, embedding.access);
  embedding.model =
      embedding.api == Embedding::Api::tei ? block.text("model") : block.map.take_required_string("model");
  block.take("dimensions", embedding.dimensions, 1, 4096);
  block.take("request_dimensions", embedding.requests_dimensions);
  if (embedding.requests_dimensions && (embedding.dimensions == 0 || embedding.api == Embedding::Api::tei))
    block.error("request_dimensions needs dimensions, and the api openai or ollama");
  block.take("query_prefix", embedding.query_prefix);
  block.take("document_prefix", embedding.document_prefix);
  block.take("timeout", embedding.timeout_seconds, 0.01, 300);
  block.map.finish();
  return embedding;
}

}  // namespace metafuse::fetchers
