#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

struct EngineFile {
  std::vector<Engine> engines;         ///< in the order of the file
  std::vector<std::string> warnings;   ///< "NAME:LINE:COLUMN: ...": SearXNG keys that have no effect here
  std::vector<std::string> refused;    ///< in a whole settings.yml: blocks that cannot be served, and why
  std::optional<Embedding> embedding;  ///< the file's own, for engines that define none
};

/// Reads engine definitions: `engines:` with blocks as in SearXNG's settings.yml. Sends nothing. When the
/// text is a whole settings.yml (it has other sections besides `engines`), blocks with mistakes are skipped
/// and listed in `refused`.
///
/// in:     text - YAML; name - the file's path; paths in the text are relative to its folder
/// errors: bad_config, all mistakes of the file at once, each line "NAME:LINE:COLUMN: ...": YAML syntax,
///         unknown, missing or duplicate keys, wrong types, duplicate names, unknown engine types (engines
///         that are Python code in SearXNG are named as such), invalid key paths or XPath, URLs without
///         {query} or with a placeholder in their host; no_input when the file cannot be read
Result<EngineFile> parse_engine_file(std::string_view text, const std::string& name);
Result<EngineFile> read_engine_file(const std::string& path);

}  // namespace metafuse::fetchers
