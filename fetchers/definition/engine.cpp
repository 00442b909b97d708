#include "fetchers/definition/engine.h"

namespace metafuse::fetchers {

const Engine* find_engine(const std::vector<Engine>& engines, std::string_view name) {
  for (const Engine& engine : engines)
    if (engine.name == name) return &engine;
  return nullptr;
}

}  // namespace metafuse::fetchers
