#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace metafuse {

/// The key under which URLs that mean the same page are equal; never shown to a user.
///
/// in:     url - absolute, http or https (other schemes keep their scheme in the key)
/// out:    host, path and parameters in canonical form, percent-encoded, without spaces
/// errors: bad_data for what no engine should deliver: not a URL, no host, longer than 8 KB
Result<std::string> canonical_url_key(std::string_view url);

}  // namespace metafuse
