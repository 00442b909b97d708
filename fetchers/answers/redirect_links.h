#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace metafuse::fetchers {

/// A kind of link that leads to its target through a counting page: "duckduckgo.com/l/?uddg=TARGET". Left as
/// they are, such links would never equal another engine's link to the same page.
struct UnwrapRule {
  /// "host/path": matches this host and its subdomains, and paths that begin so. "google.*" matches the name
  /// under any top-level domain.
  std::string match;
  /// Where the target is. A name: the URL's parameter of that name; "?": everything after the question mark;
  /// "/NAME=": the path segment that begins so; "/": the rest of the path.
  std::string parameter;

  friend bool operator==(const UnwrapRule&, const UnwrapRule&) = default;
};

/// errors: bad_config: no host, or no parameter
Result<void> check_unwrap_rule(const UnwrapRule& rule);

/// The target of a redirect link, also through nested ones. Any other URL is returned unchanged.
///
/// in:     url - absolute; rules - tried before the built-in ones for Google, Bing, Yahoo, DuckDuckGo,
///         Facebook, Outlook and others
/// out:    an absolute http or https URL; a target may be percent-encoded or base64
/// cost:   negligible for a URL that does not contain a second URL
std::string unwrapped_url(std::string url, const std::vector<UnwrapRule>& rules);

}  // namespace metafuse::fetchers
