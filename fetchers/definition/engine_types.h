#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fetchers/model/engine_block.h"

namespace metafuse::fetchers {

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

/// True for an engine that SearXNG ships as Python code, which only SearXNG can run.
bool is_python_engine(std::string_view name);

/// Keys of SearXNG that have no effect here.
std::vector<std::string> unused_searxng_keys();

}  // namespace metafuse::fetchers
