#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "core/tracking_parameters.h"

namespace metafuse {

/// The key under which URLs that mean the same page are equal; never shown to a user.
///
/// Ignored: http against https, the host's case, IDN form and last dot, `www.`, default ports, a slash at the
/// path's end, fragments, the order of parameters, tracking parameters and session ids
/// (core/tracking_parameters.h), and how a character that has no meaning of its own is percent-encoded. Kept
/// apart: paths that differ in case, ports, all other parameters and the order of values under one name, user
/// names, and fragments that are routes (`#!...`, `#/...`).
///
/// in:     url - absolute, http or https (other schemes keep their scheme in the key); tracking - which
///         parameters do not count
/// out:    host, path and parameters in canonical form, percent-encoded, without spaces; a key is its own key
///         once "http://" stands before it
/// errors: bad_data for what no engine should deliver: not a URL, no host, longer than 8 KB
/// cost:   a fifth of a microsecond for plain URLs, two for those that libcurl must read
/// source: RFC 3986 sec. 6.2, and what engines do in practice; tests/data/url_keys.tsv has a reason for
///         each case
Result<std::string> canonical_url_key(std::string_view url,
                                      const TrackingParameters& tracking = default_tracking_parameters());

}  // namespace metafuse
