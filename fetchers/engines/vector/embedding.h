#pragma once

#include <optional>
#include <string>

#include "core/yaml_reader.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

/// Reads `embedding:`; mistakes are added to the diagnostics.
/// out:    nullopt when the node is not a map or names an unknown API
std::optional<Embedding> read_embedding(const YamlNode& node, const std::string& folder,
                                        Diagnostics& diagnostics);

}  // namespace metafuse::fetchers
