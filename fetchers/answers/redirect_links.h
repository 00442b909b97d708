#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "fetchers/model/engine.h"

namespace metafuse::fetchers {

/// errors: bad_config: no host, or no parameter
Result<void> check_unwrap_rule(const UnwrapRule& rule);

/// False for most links that unwrapped_url() returns unchanged, found out quickly.
bool may_be_redirect(std::string_view url);

/// The target of a redirect link, also through nested ones. Any other URL is returned unchanged.
///
/// in:     url - absolute; rules - tried before the built-in ones for Google, Bing, Yahoo, DuckDuckGo,
///         Facebook, Outlook and others
/// out:    an absolute http or https URL; a target may be percent-encoded or base64
/// cost:   negligible for a URL that does not contain a second URL
std::string unwrapped_url(std::string url, const std::vector<UnwrapRule>& rules);

}  // namespace metafuse::fetchers
