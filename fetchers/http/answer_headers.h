#pragma once

#include <string>
#include <string_view>

#include "fetchers/model/engine.h"

// What the headers of an answer mean for later requests.

namespace metafuse::fetchers {

/// The target of rel="next" in a header Link; empty if there is none.
///
/// source: RFC 8288
std::string next_link(std::string_view header);

/// Adds the cookies to a request's headers.
void add_cookies(StringPairs& headers, const StringPairs& cookies);

/// Notes the cookies that an answer sets; at most 50, of at most 4 KB each.
///
/// in:     headers - of the answer, names in lower case
void note_cookies(StringPairs& cookies, const StringPairs& headers);

}  // namespace metafuse::fetchers
