#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "core/tracking_parameters.h"

namespace metafuse {

/// The key under which URLs of the same page are equal. Never shown to a user.
///
/// These differences are ignored: http or https, the host's case, IDN form and final dot, `www.`, default
/// ports, a slash at the end of the path, fragments, the order of parameters, tracking parameters and session
/// ids (core/tracking_parameters.h), and whether a character without a special meaning is percent-encoded.
/// These are kept: the case of the path, other ports, all other parameters and the order of values under one
/// name, user names, and fragments that are routes (`#!...`, `#/...`).
///
/// in:     url - absolute, http or https (the key of any other scheme includes the scheme); tracking - the
///         parameters to ignore
/// out:    host, path and parameters in canonical form, percent-encoded, without spaces. Canonicalising
///         "http://" plus a key gives the same key again.
/// errors: bad_data for what no engine should deliver: not a URL, no host, longer than 8 KB
/// cost:   a fifth of a microsecond for plain URLs, two for those that libcurl must parse
/// source: RFC 3986 sec. 6.2, and the practice of engines; tests/data/url_keys.tsv gives a reason for
///         each case
Result<std::string> canonical_url_key(std::string_view url,
                                      const TrackingParameters& tracking = default_tracking_parameters());

}  // namespace metafuse
