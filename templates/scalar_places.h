#pragma once

#include <string_view>
#include <vector>

#include "core/diagnostics.h"
#include "core/yaml_reader.h"

namespace metafuse::templates {

/// Where every byte of a YAML scalar stands in its file, so that a mistake inside a query's text is shown
/// where the user wrote it: through quotes, escapes, folded lines and block scalars.
///
/// in:  source - the whole file; scalar - a node that was parsed from it
/// out: one place a byte of scalar.text and one for its end; all the scalar's own place when it is written in
///      a way that cannot be followed (behind an anchor or a tag)
std::vector<Place> scalar_places(std::string_view source, const YamlNode& scalar);

}  // namespace metafuse::templates
