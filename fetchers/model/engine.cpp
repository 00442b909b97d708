#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

bool needs_vector(const Engine& engine) {
  if (const auto* database = std::get_if<DatabaseAccess>(&engine.access))
    return database->statement.find(":vector") != std::string::npos;
  const auto* http = std::get_if<HttpAccess>(&engine.access);
  return http != nullptr && (http->body.find("{vector}") != std::string::npos ||
                             http->url.find("{vector}") != std::string::npos);
}

Duration engine_timeout(const Engine& engine) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(engine.timeout_seconds));
}

const Engine* find_engine(const std::vector<Engine>& engines, std::string_view name) {
  for (const Engine& engine : engines)
    if (engine.name == name) return &engine;
  return nullptr;
}

}  // namespace metafuse::fetchers
