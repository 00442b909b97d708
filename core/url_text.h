#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace metafuse {

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

}  // namespace metafuse
