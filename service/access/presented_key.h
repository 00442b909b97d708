#pragma once

#include <string>

#include "service/http/message.h"

namespace metafuse::service {

/// The API key that a program shows, or "": `Authorization: Bearer KEY`, `X-API-Key: KEY`, or Tavily's
/// `api_key` in the body.
std::string presented_key(const HttpRequest& request);

/// The API key that a person gave to a browser as a password (`Authorization: Basic`, any user name), or "".
/// A browser adds it to whatever any site makes it ask for, so where something may change it counts only in
/// requests of our own pages.
std::string typed_key(const HttpRequest& request);

}  // namespace metafuse::service
