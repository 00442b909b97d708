#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace metafuse {

/// A URL that stands in an answer from `base`: absolute http and https URLs as they are, relative ones
/// resolved; nothing for other schemes and for what is no URL.
std::optional<std::string> resolved_url(std::string_view url, const std::string& base);

/// The parts of a URL that decide what is reached.
struct UrlParts {
  std::string scheme;
  std::string host;  ///< in small letters, [..] around IPv6
  int port = 0;
  std::string path_and_query;

  std::string origin() const { return host + ":" + std::to_string(port); }
};

/// As curl reads it; nothing for what is no http or https URL or holds a user name.
std::optional<UrlParts> parts_of_url(const std::string& url);

}  // namespace metafuse
