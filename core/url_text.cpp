#include "core/url_text.h"

#include <algorithm>
#include <array>
#include <memory>

#include <curl/curl.h>

#include "core/ascii.h"

namespace metafuse {
namespace {

struct CurlUrlCleanup {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, CurlUrlCleanup>;

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

/// The characters of a host name.
constexpr std::array<bool, 256> kNameChars = [] {
  std::array<bool, 256> chars{};
  for (const char c : std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."))
    chars[static_cast<unsigned char>(c)] = true;
  return chars;
}();

/// True for "http://name.example:80/path" in plain ASCII. Nearly every result is like this, and needs
/// no parser.
bool is_plain_web_url(std::string_view url) {
  if (!url.starts_with("http://") && !url.starts_with("https://")) return false;
  url.remove_prefix(url[4] == 's' ? 8 : 7);
  std::size_t host_end = 0;
  while (host_end < url.size() && kNameChars[static_cast<unsigned char>(url[host_end])]) ++host_end;
  const bool is_host =
      host_end > 0 && url.front() != '.' &&
      (host_end == url.size() || url[host_end] == '/' || url[host_end] == '?' || url[host_end] == '#');
  bool is_ascii = true;
  for (const char c : url.substr(host_end)) is_ascii &= c > 0x20 && c < 0x7F;
  return is_host && is_ascii;
}

/// "127.0.0.1": four numbers up to 255 without leading zeros, the one form that all parsers read alike.
bool is_plain_ipv4(std::string_view host) {
  for (int i = 0; i < 4; ++i) {
    const std::size_t size = std::min(host.find('.'), host.size());
    const std::string_view number = host.substr(0, size);
    if (number.empty() || number.size() > 3 || (number.size() > 1 && number.front() == '0')) return false;
    int value = 0;
    for (const char c : number) {
      if (c < '0' || c > '9') return false;
      value = value * 10 + (c - '0');
    }
    if (value > 255 || (size == host.size()) != (i == 3)) return false;
    host.remove_prefix(std::min(size + 1, host.size()));
  }
  return true;
}

/// A lower-case name whose last label begins with a letter, or an unambiguous IPv4 address.
bool is_plain_host(std::string_view host) {
  if (host.empty() || !std::all_of(host.begin(), host.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
      }))
    return false;
  const std::string_view last_label = host.substr(host.rfind('.') + 1);
  if (host.front() == '.' || host.front() == '-' || last_label.empty()) return false;
  return last_label.front() >= 'a' ? host.find("..") == std::string_view::npos : is_plain_ipv4(host);
}

/// The parts of a URL that all parsers read alike; nullopt for any other, which is left to curl's parser.
std::optional<UrlParts> parts_of_plain_url(std::string_view text) {
  UrlParts parts;
  parts.scheme = text.starts_with("https://") ? "https" : "http";
  if (!text.starts_with("http://") && !text.starts_with("https://")) return std::nullopt;
  text.remove_prefix(parts.scheme.size() + 3);
  const std::size_t path = text.find('/');
  if (path == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, path);
  std::string_view rest = text.substr(path);
  parts.port = parts.scheme == "http" ? 80 : 443;
  if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    const std::string_view port = host.substr(colon + 1);
    if (port.empty() || port.size() > 5 || port.front() == '0') return std::nullopt;
    parts.port = 0;
    for (const char c : port) {
      if (c < '0' || c > '9') return std::nullopt;
      parts.port = parts.port * 10 + (c - '0');
    }
    if (parts.port > 65535) return std::nullopt;
    host = host.substr(0, colon);
  }
  const bool is_plain_rest = std::all_of(rest.begin(), rest.end(), [](char c) {
    return c > 0x20 && c < 0x7F && c != '\\' && c != '#' && c != '"' && c != '<' && c != '>';
  });
  if (!is_plain_host(host) || !is_plain_rest || rest.find("/.") != std::string_view::npos ||
      rest.find("/%2") != std::string_view::npos)
    return std::nullopt;
  parts.host = host;
  parts.path_and_query = rest;
  return parts;
}

}  // namespace

std::optional<std::string> resolved_url(std::string_view text, const std::string& base) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= 0x20) text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= 0x20) text.remove_suffix(1);
  if (text.empty() || text.size() > 8192) return std::nullopt;
  if (is_plain_web_url(text)) return std::string(text);
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
    return std::nullopt;
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
  if (auto plain = parts_of_plain_url(text)) return plain;
  const Url url(curl_url());
  if (!is_web_url(text) || text.find("///") == text.find("://") + 1 ||
      curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_DISALLOW_USER) != CURLUE_OK)
    return std::nullopt;
  UrlParts parts;
  parts.scheme = part(url.get(), CURLUPART_SCHEME).value_or("");
  parts.host = ascii_lower(part(url.get(), CURLUPART_HOST).value_or(""));
  while (parts.host.size() > 1 && parts.host.back() == '.') parts.host.pop_back();
  parts.port = std::atoi(part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT).value_or("0").c_str());
  parts.path_and_query = part(url.get(), CURLUPART_PATH).value_or("/");
  if (const auto query = part(url.get(), CURLUPART_QUERY)) parts.path_and_query += "?" + *query;
  if (parts.host.empty()) return std::nullopt;
  return parts;
}

}  // namespace metafuse
