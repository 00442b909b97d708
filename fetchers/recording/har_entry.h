#pragma once

#include <string>

#include "core/json.h"
#include "core/result.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {

/// A recorded answer and what it answers.
struct Exchange {
  std::string key;  ///< of the request
  HttpAnswer answer;
};

/// What makes two requests the same for a replay: method, URL and body, without secrets; headers never count.
std::string exchange_key(const HttpRequest& request);

/// An entry of HAR 1.2, in one line. Secrets and cookies are replaced, bytes that are not UTF-8 are kept as
/// base64, a failure as `_failure`.
std::string har_entry(const HttpRequest& request, const HttpAnswer& answer);

/// in:     place - for errors, "FILE:LINE" or the like
/// errors: bad_data: no request or response, content that is no base64
Result<Exchange> read_har_entry(const Json& json, const std::string& place);

}  // namespace metafuse::fetchers
