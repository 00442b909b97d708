#pragma once

#include <optional>
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
/// Addresses that the rules of core/same_page.h call one page have one key.
/// These are kept: the case of the path, other ports, all other parameters and the order of values under one
/// name, user names, and fragments that are routes (`#!...`, `#/...`).
///
/// in:     url - absolute, http or https (the key of any other scheme includes the scheme); tracking - the
///         parameters to ignore
/// out:    host, path and parameters in canonical form, percent-encoded, without spaces. Canonicalising
///         "http://" plus a key gives the same key again.
/// errors: bad_data for what no engine should deliver: not a URL, no host, longer than 8 KB
/// cost:   a tenth of a microsecond for plain URLs, two for those that libcurl must parse
/// source: RFC 3986 sec. 6.2, and the practice of engines; tests/data/url_keys.tsv gives a reason for
///         each case
Result<std::string> canonical_url_key(std::string_view url,
                                      const TrackingParameters& tracking = default_tracking_parameters());

/// A host's name in lower case and in its ASCII form: "xn--mnchen-3ya.de" of "München.de". A name that has no
/// such form is only put into lower case.
std::string ascii_host(std::string_view host);

/// Whether a text begins with a scheme, as "http://a" does and "a/http://b" does not.
bool has_scheme(std::string_view text);

/// The URL without its tracking parameters; everything else stays byte for byte.
std::string without_tracking(std::string url, const TrackingParameters& tracking);

/// True for "http://name.example/path" in printable ASCII, without user name and port and not too long.
/// Nearly every result is like this, and resolved_url() returns it as it is.
bool is_plain_web_url(std::string_view url);

/// Resolves a URL found in an answer that came from `base`: absolute http and https URLs are returned
/// unchanged, relative ones are resolved; nullopt for other schemes and for text that is not a URL.
std::optional<std::string> resolved_url(std::string_view url, const std::string& base);

/// The parts of a URL that determine which server and page are reached.
struct UrlParts {
  std::string scheme;
  std::string host;  ///< lower-case; IPv6 addresses in brackets
  int port = 0;
  std::string path_and_query;

  std::string origin() const { return host + ":" + std::to_string(port); }
};

/// The parts as curl reads them; nullopt for a text that is not an http or https URL, or that contains a
/// user name.
std::optional<UrlParts> parts_of_url(const std::string& url);

/// Whether a host lies in the Tor network. Such a name must not be looked up (RFC 7686).
bool is_onion_host(std::string_view host);

}  // namespace metafuse
