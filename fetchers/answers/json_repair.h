#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace metafuse::fetchers::parsers {

/// What engines send that is nearly JSON, as JSON: a call around it (JSONP), a guard in front of it (")]}'",
/// "while(1);"), a document a line (NDJSON: an array of them), escapes of half a character (U+FFFD).
///
/// in:  text - valid UTF-8 that does not parse
/// out: nothing when it is none of these; what comes out may still not parse
std::optional<std::string> repaired_json(std::string_view text);

}  // namespace metafuse::fetchers::parsers
