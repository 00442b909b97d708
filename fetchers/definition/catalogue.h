#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.h"
#include "core/yaml_reader.h"

// Definitions of well-known engines, compiled into the program from config/engines/KIND.yaml. A block of any
// engines file may name one of them as its `engine:`. In a SearXNG settings.yml, blocks whose engines are
// Python modules there are served by the definitions that declare themselves their replacements.

namespace metafuse::fetchers {

/// A file of the catalogue, compiled into the program.
struct CatalogueFile {
  std::string_view name;
  std::string_view text;
};
std::span<const CatalogueFile> catalogue_files();

struct CatalogueEntry {
  std::string name;
  std::string kind;                  ///< the name of its file, such as "science"
  std::vector<std::string> searxng;  ///< the SearXNG modules that it replaces
  YamlNode block;                    ///< as written in the file
  std::string_view text;             ///< the block's lines

  /// A value below `about:`, or empty.
  std::string about(std::string_view key) const;
  /// A scalar value of the block, or empty.
  std::string value(std::string_view key) const;
};

/// All definitions, in the order of kinds and files. Parsed once, on first use.
const std::vector<CatalogueEntry>& catalogue();

/// Completes a block whose `engine` is not an engine type but a definition of the catalogue, or a SearXNG
/// module that a definition replaces. Keys that the block lacks are taken from the definition.
///
/// in:     type - the block's `engine`; is_searxng - the block belongs to a whole settings.yml: `type` is
///         then looked up among SearXNG's modules first, and keys that would change our requests are dropped
/// out:    nullopt when the catalogue has no such definition. When it has one that cannot serve the block's
///         parameters, `diagnostics` says so.
std::optional<YamlNode> catalogue_block(const YamlNode& block, const std::string& type, bool is_searxng,
                                        Diagnostics& diagnostics);

/// Fills in the `parameters` of a block: "<name>" in its texts becomes the value of the block's key
/// `name`, or else the first of the parameter's listed values. A parameter that lists several values
/// accepts no other.
void fill_parameters(YamlNode& block, Diagnostics& diagnostics);

}  // namespace metafuse::fetchers
