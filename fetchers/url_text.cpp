#include "fetchers/url_text.h"

#include <algorithm>
#include <memory>

#include <curl/curl.h>

namespace metafuse::fetchers {
namespace {

struct UrlCleanup {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, UrlCleanup>;

std::optional<std::string> part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, flags) != CURLUE_OK) return std::nullopt;
  std::string out = text;
  curl_free(text);
  return out;
}

bool is_web_url(std::string_view url) {
  const auto starts = [&](std::string_view scheme) {
    return url.size() > scheme.size() && std::equal(scheme.begin(), scheme.end(), url.begin(),
                                                    [](char a, char b) { return a == (b | 0x20) || a == b; });
  };
  return starts("http://") || starts("https://");
}

/// "http://name.example:80/path" of plain ASCII: what nearly every result is, recognised without a parser.
bool is_plain_web_url(std::string_view url) {
  if (!is_web_url(url)) return false;
  url.remove_prefix(url.find("://") + 3);
  const std::size_t host_end = std::min(url.find_first_of("/?#"), url.size());
  const std::string_view host = url.substr(0, host_end);
  const auto is_name_char = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return !host.empty() && host.front() != '.' && std::all_of(host.begin(), host.end(), is_name_char) &&
         std::all_of(url.begin(), url.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

}  // namespace

std::string percent_encoded(std::string_view text, bool has_plus_for_blank) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
        c == '.' || c == '~') {
      out += c;
    } else if (c == ' ' && has_plus_for_blank) {
      out += '+';
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

std::optional<std::string> resolved_url(std::string_view text, const std::string& base) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= 0x20) text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= 0x20) text.remove_suffix(1);
  if (text.empty() || text.size() > 8192 ||
      std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
    return std::nullopt;
  if (is_plain_web_url(text)) return std::string(text);
  const Url url(curl_url());
  if (is_web_url(text)) {
    if (curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(), CURLU_URLENCODE) != CURLUE_OK)
      return std::nullopt;
    return std::string(text);
  }
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos && text.find_first_of("/?#") > colon) return std::nullopt;
  if (base.empty() || curl_url_set(url.get(), CURLUPART_URL, base.c_str(), 0) != CURLUE_OK)
    return std::nullopt;
  if (curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(), CURLU_URLENCODE) != CURLUE_OK)
    return std::nullopt;
  return part(url.get(), CURLUPART_URL);
}

std::optional<UrlParts> parts_of_url(const std::string& text) {
  const Url url(curl_url());
  if (!is_web_url(text) || text.find("///") == text.find("://") + 1 ||
      curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_DISALLOW_USER) != CURLUE_OK)
    return std::nullopt;
  UrlParts parts;
  parts.scheme = part(url.get(), CURLUPART_SCHEME).value_or("");
  parts.host = part(url.get(), CURLUPART_HOST).value_or("");
  std::transform(parts.host.begin(), parts.host.end(), parts.host.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  while (parts.host.size() > 1 && parts.host.back() == '.') parts.host.pop_back();
  parts.port = std::atoi(part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT).value_or("0").c_str());
  parts.path_and_query = part(url.get(), CURLUPART_PATH).value_or("/");
  if (const auto query = part(url.get(), CURLUPART_QUERY)) parts.path_and_query += "?" + *query;
  if (parts.host.empty()) return std::nullopt;
  return parts;
}

}  // namespace metafuse::fetchers
