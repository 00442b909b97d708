#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/definition/engine.h"

namespace metafuse::fetchers {

struct EngineFile {
  std::vector<Engine> engines;        ///< in the order of the file
  std::vector<std::string> warnings;  ///< "NAME:LINE:COLUMN: ...": SearXNG's keys that have no effect here
};

/// Reads engine definitions: `engines:` with blocks as in SearXNG's settings.yml. Nothing is sent anywhere.
///
/// in:     text - YAML; name - the file's path: paths inside are relative to its folder
/// errors: bad_config, all mistakes of the file at once, each line "NAME:LINE:COLUMN: ...": YAML syntax,
/// unknown,
///         missing or duplicate keys, wrong types, names that stand twice, unknown engine types (those that
///         are Python code in SearXNG by name), bad key paths, bad XPath, URLs without {query} or with a
///         placeholder in their host; no_input when the file cannot be read
Result<EngineFile> parse_engine_file(std::string_view text, const std::string& name);
Result<EngineFile> read_engine_file(const std::string& path);

}  // namespace metafuse::fetchers
