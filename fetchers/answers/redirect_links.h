#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace metafuse::fetchers {

/// A kind of link that leads to its target by way of a counting page: "duckduckgo.com/l/?uddg=TARGET". As
/// they are, such links meet no other engine's link to the same page.
struct UnwrapRule {
  /// "host/path": the host itself or one below it, and the beginning of the path. "google.*" is a name under
  /// any top-level domain.
  std::string match;
  /// The URL's parameter that holds the target; "?": all that follows the question mark; "/NAME=": the piece
  /// of the path that begins so; "/": the rest of the path.
  std::string parameter;

  friend bool operator==(const UnwrapRule&, const UnwrapRule&) = default;
};

/// errors: bad_config: no host, or no parameter
Result<void> check_unwrap_rule(const UnwrapRule& rule);

/// The target of a redirect link, also of one inside another; any other URL as it is.
///
/// in:   url - absolute; rules - asked before the well-known ones of Google, Bing, Yahoo, DuckDuckGo,
///       Facebook, Outlook and others
/// out:  an absolute http or https URL; a target may be percent-encoded or base64
/// cost: nothing worth measuring for URLs that hold no second URL
std::string unwrapped_url(std::string url, const std::vector<UnwrapRule>& rules);

}  // namespace metafuse::fetchers
