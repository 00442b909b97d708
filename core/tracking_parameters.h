#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace metafuse {

/// Names of URL parameters that say where a visitor came from, or which session it is, and never which page
/// is shown. In small letters, sorted; compared without regard to case.
struct TrackingParameters {
  std::vector<std::string> names;
  std::vector<std::string> prefixes;

  bool has(std::string_view name) const;
  friend bool operator==(const TrackingParameters&, const TrackingParameters&) = default;
};

/// The list of config/tracking_parameters.yaml.
const TrackingParameters& default_tracking_parameters();

/// Reads YAML: version: 1, names: [...], prefixes: [...].
///
/// errors: bad_config with every mistake as "FILE:LINE:COLUMN: what": an unknown key, a name with characters
///         that no name of a parameter has, an empty prefix
Result<TrackingParameters> parse_tracking_parameters(std::string_view text, const std::string& file);

}  // namespace metafuse
