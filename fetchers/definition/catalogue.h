#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostics.h"
#include "core/yaml_reader.h"

// Definitions of well-known engines, config/engines/KIND.yaml, as they stand in the program. A block of any
// engines file may name one of them as its `engine:`, and the blocks of a SearXNG settings.yml whose engines
// are Python code there are served by the definitions that say so.

namespace metafuse::fetchers {

/// A file of the catalogue, compiled into the program.
struct CatalogueFile {
  std::string_view name;
  std::string_view text;
};
std::span<const CatalogueFile> catalogue_files();

struct CatalogueEntry {
  std::string name;
  std::string kind;       ///< its file: "science"
  std::string searxng;    ///< the module of SearXNG that it stands for, or empty
  YamlNode block;         ///< as written
  std::string_view text;  ///< the block's lines

  /// A value of `about:`, or empty.
  std::string about(std::string_view key) const;
  /// A scalar of the block, or empty.
  std::string value(std::string_view key) const;
};

/// All definitions, in the order of kinds and files. Parsed once, when first asked for.
const std::vector<CatalogueEntry>& catalogue();

/// Completes a block whose `engine` is no engine type but a definition of the catalogue, or a module of
/// SearXNG that a definition stands for: the keys of the definition, where the block has none of its own.
///
/// in:     type - the block's `engine`; is_searxng - the block is one of a whole settings.yml: `type` is
///         first looked for among SearXNG's modules, and keys that would change our requests are left out
/// out:    nothing when the catalogue has no such definition. Where it has one that cannot serve the block's
///         parameters, `diagnostics` says so
std::optional<YamlNode> catalogue_block(const YamlNode& block, const std::string& type, bool is_searxng,
                                        Diagnostics& diagnostics);

/// Fills in the `parameters` of a block. "<name>" in its texts becomes the value of its key `name`, else the
/// first of the parameter's values. A parameter that lists several values takes no other.
void fill_parameters(YamlNode& block, Diagnostics& diagnostics);

}  // namespace metafuse::fetchers
