#pragma once

#include <optional>
#include <string>
#include <vector>

namespace metafuse {

/// One result as an engine delivered it; all text is valid UTF-8 without markup.
struct Hit {
  std::string url;  ///< byte for byte as delivered
  std::string title;
  std::string snippet;
  std::string published;  ///< ISO 8601 date or date-time, empty when the engine gave none
  std::string thumbnail;
  std::optional<double> score;
  std::string key{};  ///< canonical_url_key(url), set by who fetched the list; empty: not computed yet

  friend bool operator==(const Hit&, const Hit&) = default;
};

/// The results of one expanded query, best first: position 0 has rank 1.
struct RankedList {
  std::vector<Hit> hits;
  std::vector<std::string> suggestions;

  friend bool operator==(const RankedList&, const RankedList&) = default;
};

}  // namespace metafuse
