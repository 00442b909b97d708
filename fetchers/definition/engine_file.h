#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/definition/searxng_settings.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

/// A block of a settings.yml that cannot be served, and why.
struct RefusedBlock {
  std::string name;
  bool is_disabled = false;  ///< there too
  std::string text;          ///< "NAME:LINE:COLUMN: ..."
};

/// What a settings.yml says of all searches.
struct SearchDefaults {
  int safe_search = 0;     ///< of searches that name no level
  std::string language{};  ///< of searches that name none
  HostnameRules hostnames{};
};

struct EngineFile {
  std::vector<Engine> engines;        ///< in the order of the file
  std::vector<std::string> warnings;  ///< "NAME:LINE:COLUMN: ...": keys that have no effect here
  std::vector<RefusedBlock> refused;
  std::optional<Embedding> embedding;  ///< the file's own, for engines that define none
  SearchDefaults defaults{};
};

/// Reads engine definitions: `engines:` with blocks as in SearXNG's settings.yml. Sends nothing. When the
/// text is a whole settings.yml (it has other sections besides `engines`), blocks with mistakes are skipped
/// and listed in `refused`, and unknown keys are warnings.
///
/// in:     text - YAML; name - the file's path; paths in the text are relative to its folder
/// errors: bad_config, all mistakes of the file at once, each line "NAME:LINE:COLUMN: ...": YAML syntax,
///         unknown, missing or duplicate keys, wrong types, duplicate names, unknown engine types (engines
///         that are Python code in SearXNG are named as such), invalid key paths or XPath, URLs without
///         {query} or with a placeholder in their host; no_input when the file cannot be read
Result<EngineFile> parse_engine_file(std::string_view text, const std::string& name);
Result<EngineFile> read_engine_file(const std::string& path);

}  // namespace metafuse::fetchers
