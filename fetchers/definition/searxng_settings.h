#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/yaml_reader.h"
#include "fetchers/definition/catalogue.h"
#include "fetchers/model/hostname_rules.h"

// A settings.yml of SearXNG, read as SearXNG reads it: which engines it has, with which keys. Its blocks are
// rewritten so that they can be read like the blocks of our own files.

namespace metafuse::fetchers {

/// config/searxng.yaml, compiled into the program.
std::span<const CatalogueFile> searxng_files();

/// The blocks that SearXNG itself ships, in its order: names, modules, parameters. Parsed once.
const std::vector<YamlNode>& searxng_defaults();
/// The block of that name, or nullptr.
const YamlNode* searxng_default(std::string_view name);

/// True for an entry of a block that SearXNG's own block of its name has as well: the user need not have
/// written it.
bool is_as_shipped(const YamlNode& block, const YamlEntry& entry);

/// True for a key that some block of SearXNG's module sets: it tells what the module asks for.
bool is_searxng_parameter(std::string_view module, std::string_view key);

/// True for a settings.yml of SearXNG: it has sections besides `engines`.
bool is_searxng_settings(const YamlNode& root);

/// What a settings.yml asks for.
struct SearxngSettings {
  std::vector<YamlNode> blocks;  ///< the engines, each completed by SearXNG's own block of its name
  int safe_search = 0;
  std::string default_language;  ///< empty: none or found out
  HostnameRules hostnames;
};

/// Reads the sections that have an effect here.
///
/// in:     root - is_searxng_settings()
/// errors: a section of the wrong form is reported to `diagnostics`, with warnings of keys that SearXNG does
///         not have and of values that are not understood
SearxngSettings read_searxng_settings(const YamlNode& root, Diagnostics& diagnostics);

/// Replaces `proxies`, `using_tor_proxy` and `network` of a block by our key `proxy`, and adds the settings'
/// time-out and proxy where the block has none.
///
/// in:     outgoing - the section of that name; nullptr: none
///         may_be_unknown - keys of a `network` that have no effect here are warned of; else they are errors
YamlNode with_network(YamlNode block, const YamlNode* outgoing, bool may_be_unknown,
                      Diagnostics& diagnostics);

}  // namespace metafuse::fetchers
