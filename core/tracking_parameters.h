#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/same_page.h"

namespace metafuse {

/// Names of URL parameters that say where a visitor came from or identify a session, and never affect which
/// page is shown. Lower-case and sorted; the comparison ignores case.
struct TrackingParameters {
  std::vector<std::string> names;
  std::vector<std::string> prefixes;
  /// Which addresses of particular sites are one page. Never nullptr.
  std::shared_ptr<const SamePageRules> same_page = built_in_same_page_rules();

  bool has(std::string_view name) const;
  friend bool operator==(const TrackingParameters& a, const TrackingParameters& b) {
    return a.names == b.names && a.prefixes == b.prefixes && *a.same_page == *b.same_page;
  }
};

/// The built-in list, the same as config/tracking_parameters.yaml.
const TrackingParameters& default_tracking_parameters();

/// Reads YAML with the keys `version: 1`, `names: [...]` and `prefixes: [...]`.
///
/// errors: bad_config with every mistake as "FILE:LINE:COLUMN: what": an unknown key, a name with characters
///         that cannot occur in a parameter's name, an empty prefix
Result<TrackingParameters> parse_tracking_parameters(std::string_view text, const std::string& file);

}  // namespace metafuse
