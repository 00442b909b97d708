#pragma once

// The engines that `metafuse init` can set up besides documents: search servers and databases, web APIs, and
// engines of the catalogue. Each is returned as text for the engine file and for the templates file.

#include <string>
#include <vector>

#include "core/query.h"
#include "core/result.h"

namespace metafuse::cli {

/// One engine, as text for the two files.
struct InitEngine {
  std::string definition;
  std::string templates;
};

struct InitEngines {
  std::vector<InitEngine> engines;
  std::vector<std::string> secrets;  ///< names of the keys that the user has to set
  std::vector<std::string> remarks;  ///< findings to tell the user
};

/// The lines by which a user sets the keys: for the shell, or also for the installed service.
std::string steps_for_secrets(const InitEngines& others, bool is_system);

/// in:     asked - KIND=ADDRESS#NAME, split at the last #; presets - names or kinds of the catalogue; apis -
///         URLs that answer a search, each requested once
/// errors: usage: an unknown kind or name, with similar ones suggested; unavailable: an API that does not
///         answer; bad_data: an answer that contains nothing like results
Result<InitEngines> init_engines(const std::vector<std::string>& asked,
                                 const std::vector<std::string>& presets,
                                 const std::vector<std::string>& apis);

/// Whether the catalogue has an engine of this name or kind.
bool find_preset(const std::string& name);

/// An engine definition derived from an example answer.
struct GuessedEngine {
  std::string definition;  ///< an engine file
  RankedList found;        ///< what the definition reads from the answer
};

/// in:     source - a file, or a URL, which is requested once
/// errors: as init_engines for an API; no_input: a file that cannot be read
Result<GuessedEngine> guess_engine(const std::string& source, const std::string& name,
                                   const std::string& content_type);

}  // namespace metafuse::cli
