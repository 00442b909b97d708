#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "service/config/snapshot.h"

namespace metafuse::service {

/// What the marks in a query ask for, and the query without them.
struct ReadBangs {
  std::string text;
  std::string domain;                ///< "" for the request's
  std::vector<std::string> engines;  ///< only these; empty for all
  std::string language;              ///< "" for the request's
};

/// Reads the marks that SearXNG's users type: "!wp" is an engine's shortcut or name (underscores for blanks),
/// "!images" a domain or a category of engines, ":de" a language. A word that is none of these stays in the
/// query. If the request names no domain and the default one does not ask the
/// engines, the first domain that does is searched.
///
/// in:   domain - the one that the request names, or ""; key - of the request, whose domains are looked
///       through; nullptr: none
/// cost: O(bytes + words x engines)
ReadBangs read_bangs(std::string_view text, const Snapshot& snapshot, const std::string& domain,
                     const KeyConfig* key);

}  // namespace metafuse::service
