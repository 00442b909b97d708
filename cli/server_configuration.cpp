#include "cli/server_configuration.h"

#include <cstdlib>
#include <optional>
#include <string_view>

#include "cli/secrets.h"
#include "service/config/engines.h"

namespace metafuse::cli {
namespace {

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

Result<void> set_listen(const std::string& text, const std::string& where, service::ServerConfig& config) {
  const auto listen = service::parse_listen(text);
  if (!listen) return fail(Code::usage, where + ": " + listen.error().text);
  config.listen_host = listen->host;
  config.port = listen->port;
  return {};
}

}  // namespace

Result<service::ServerConfig> read_server_configuration(const std::string& path, const std::string& listen) {
  auto config = service::read_config(path);
  if (!config) return config.error();
  if (const auto store = environment("METAFUSE_STORE")) config->store = *store;
  if (const auto models = environment("METAFUSE_MODELS")) config->models = *models;
  if (const auto redis = environment("METAFUSE_REDIS")) config->cache.redis = *redis;
  const auto from_environment = environment("METAFUSE_LISTEN");
  if (!listen.empty()) {
    TRY_VOID(set_listen(listen, "--listen", *config));
  } else if (from_environment) {
    TRY_VOID(set_listen(*from_environment, "METAFUSE_LISTEN", *config));
  }
  return config;
}

service::LoadEngines engine_loader() {
  return
      [](const service::ServerConfig& config) { return service::load_engines(config, environment_secret); };
}

}  // namespace metafuse::cli
