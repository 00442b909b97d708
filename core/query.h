#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/tracking_parameters.h"

namespace metafuse {

/// What a user asks: a value for each slot of a domain's templates.
struct BaseQuery {
  std::map<std::string, std::string> slots;

  friend bool operator==(const BaseQuery&, const BaseQuery&) = default;
};

/// One search template applied to a base query, ready for one engine.
struct ExpandedQuery {
  std::string template_id;
  std::string engine;
  std::string text;

  /// The name of the ranking feature that this query's list becomes. A list that a caller supplied has no
  /// engine; its template id is the name.
  std::string feature_name() const { return engine.empty() ? template_id : template_id + "@" + engine; }

  friend bool operator==(const ExpandedQuery&, const ExpandedQuery&) = default;
};

/// One result as an engine delivered it; all text is valid UTF-8 without markup.
struct Hit {
  std::string url;  ///< byte for byte as delivered
  std::string title;
  std::string snippet;
  std::string published;  ///< ISO 8601 date or date-time, empty when the engine gave none
  std::string thumbnail;
  std::optional<double> score;
  std::string key{};  ///< canonical_url_key(url), set by the code that fetched the list; empty until computed
  std::string language{};  ///< BCP 47 tag of the page's language ("de", "pt-BR"); empty when unknown
  /// By which nearly equal texts are recognised, of the page's whole text; 0 when the engine gave none.
  std::uint64_t fingerprint = 0;

  friend bool operator==(const Hit&, const Hit&) = default;
};

/// The results of one expanded query, best first: position 0 has rank 1.
struct RankedList {
  std::vector<Hit> hits;
  std::vector<std::string> suggestions;

  friend bool operator==(const RankedList&, const RankedList&) = default;
};

/// Gives every hit its key. Drops hits whose URL has no key, and all but the best-ranked hit of each page.
///
/// in:     depth - the largest number of hits to keep; 0 keeps all
/// out:    every hit has its key, and its rank is its position in the list
void keep_best_of_each(RankedList& list, int depth,
                       const TrackingParameters& tracking = default_tracking_parameters());

}  // namespace metafuse
