#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "core/deadline.h"
#include "fetchers/http/transport.h"
#include "fetchers/model/engine.h"

// What the headers of an answer mean for later requests.

namespace metafuse::fetchers {

/// The target of the link to the next page in an answer's headers Link; empty if there is none.
///
/// in:     headers - of the answer, names in lower case
/// source: RFC 8288
std::string next_link(const StringPairs& headers);

/// When an answer was sent, by its header Date, in seconds since 1970; nullopt if it does not say.
std::optional<std::time_t> sent_at(const HttpAnswer& answer);

/// How long the header Retry-After asks to wait: seconds, or the time from the header Date to an HTTP date;
/// nullopt if it asks for nothing, for a time before the answer, or for 10^7 s and more.
std::optional<Duration> retry_after(const HttpAnswer& answer);

/// Adds the cookies to a request's headers.
void add_cookies(StringPairs& headers, const StringPairs& cookies);

/// Notes the cookies that an answer sets; at most 50, of at most 4 KB each.
///
/// in:     headers - of the answer, names in lower case
void note_cookies(StringPairs& cookies, const StringPairs& headers);

}  // namespace metafuse::fetchers
