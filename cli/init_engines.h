#pragma once

// What `metafuse init` can ask beside the documents: search servers and databases, web APIs, and engines of
// the catalogue, each as text for the engine file and for the templates.

#include <string>
#include <vector>

#include "core/query.h"
#include "core/result.h"

namespace metafuse::cli {

/// One engine, as text for both files.
struct InitEngine {
  std::string definition;
  std::string templates;
};

struct InitEngines {
  std::vector<InitEngine> engines;
  std::vector<std::string> secrets;  ///< names of keys that are to be set
  std::vector<std::string> remarks;  ///< what was found out, for the person
};

/// in:     asked - KIND=ADDRESS#NAME, the last # counts; presets - names or kinds of the catalogue; apis -
///         URLs that answer a search, each asked once
/// errors: usage: an unknown kind or name, with near ones; unavailable: an API that does not answer;
///         bad_data: an answer that holds nothing like results
Result<InitEngines> init_engines(const std::vector<std::string>& asked,
                                 const std::vector<std::string>& presets,
                                 const std::vector<std::string>& apis);

/// True for a name or kind of the catalogue.
bool find_preset(const std::string& name);

/// A definition that was found out from an answer.
struct GuessedEngine {
  std::string definition;  ///< an engine file
  RankedList found;        ///< what it reads there
};

/// in:     source - a file, or a URL, which is asked once
/// errors: as init_engines for an API; no_input: a file that cannot be read
Result<GuessedEngine> guess_engine(const std::string& source, const std::string& name,
                                   const std::string& content_type);

}  // namespace metafuse::cli
