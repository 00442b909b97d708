#include "core/url.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <arpa/inet.h>
#include <curl/curl.h>
#include <idn2.h>

#include "core/tracking_parameters.h"

namespace metafuse {
namespace {

constexpr std::size_t kMaxUrlBytes = 8192;
constexpr std::string_view kHex = "0123456789ABCDEF";

/// Characters that stand for themselves in a path once decoded; `/`, `?`, `#`, `%` and controls do not.
constexpr std::string_view kPlainInPath = "-._~!$&'()*+,;=:@";
/// `&`, `=` and `+` mean something in a query.
constexpr std::string_view kPlainInQuery = "-._~!$'()*,;:@/?";

struct UrlCleanup {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::optional<std::string> part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return std::nullopt;
  std::string out = text;
  curl_free(text);
  return out;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/// Each character in its one canonical way: itself where it is plain, else %XX in capitals.
std::string canonical_text(std::string_view text, std::string_view plain, bool has_plus_for_blank) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    bool was_encoded = false;
    if (c == '%' && at + 2 < text.size() && hex_value(text[at + 1]) >= 0 && hex_value(text[at + 2]) >= 0) {
      c = static_cast<char>(hex_value(text[at + 1]) * 16 + hex_value(text[at + 2]));
      at += 2;
      was_encoded = true;
    } else if (c == '+' && has_plus_for_blank) {
      c = ' ';
    }
    const bool is_structure = !was_encoded && (c == '/' || c == '%');
    if (is_alphanumeric(c) || plain.find(c) != std::string_view::npos || (is_structure && c == '/')) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

/// An IPv6 address in its shortest form, a name in its ASCII form and small letters; without `www.` and last
/// dots.
std::string canonical_host(std::string host) {
  if (host.size() > 2 && host.front() == '[') {
    std::array<unsigned char, 16> bytes{};
    std::array<char, INET6_ADDRSTRLEN> text{};
    const std::string inner = host.substr(1, host.find_first_of("]%") - 1);
    if (inet_pton(AF_INET6, inner.c_str(), bytes.data()) == 1 &&
        inet_ntop(AF_INET6, bytes.data(), text.data(), text.size()) != nullptr)
      return "[" + std::string(text.data()) + "]";
    return host;
  }
  std::transform(host.begin(), host.end(), host.begin(), lower);
  if (std::any_of(host.begin(), host.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    char* ascii = nullptr;
    if (idn2_to_ascii_8z(host.c_str(), &ascii, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT) == IDN2_OK) {
      host = ascii;
      idn2_free(ascii);
    }
  }
  while (host.size() > 1 && host.back() == '.') host.pop_back();
  if (host.starts_with("www.") && host.find('.', 4) != std::string::npos) host.erase(0, 4);
  return canonical_text(host, "-._~:", false);
}

/// `;jsessionid=...` at the end of a segment names a visitor, not a page.
void drop_session(std::string& path) {
  std::string small = path;
  std::transform(small.begin(), small.end(), small.begin(), lower);
  const std::size_t at = small.find(";jsessionid=");
  if (at != std::string::npos) path.erase(at, std::min(path.find('/', at), path.size()) - at);
}

std::string canonical_path(std::string path) {
  drop_session(path);
  path = canonical_text(path, kPlainInPath, false);
  while (path.ends_with('/')) path.pop_back();
  return path;
}

/// Sorted by name; values of one name stay in their order.
std::string canonical_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parameters;  // name, the whole parameter
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view piece = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (piece.empty()) continue;
    const std::size_t equals = piece.find('=');
    std::string name = canonical_text(piece.substr(0, equals), kPlainInQuery, true);
    if (is_tracking_parameter(name)) continue;
    std::string whole = name;
    if (equals != std::string_view::npos)
      whole += "=" + canonical_text(piece.substr(equals + 1), kPlainInQuery, true);
    parameters.emplace_back(std::move(name), std::move(whole));
  }
  std::stable_sort(parameters.begin(), parameters.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  for (const auto& [name, whole] : parameters) out += (out.empty() ? "?" : "&") + whole;
  return out;
}

/// Pages that draw themselves by script keep their route behind `#!` or `#/`.
std::string canonical_route(const std::string& fragment) {
  if (!fragment.starts_with('!') && !fragment.starts_with('/')) return {};
  const std::string route = canonical_text(fragment, "-._~!$&'()*+,;=:@?/", false);
  return route == "/" || route == "!" || route == "!/" ? std::string() : "#" + route;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= 0x20) text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= 0x20) text.remove_suffix(1);
  return text;
}

Error not_a_url(std::string_view text) {
  return fail(Code::bad_data, "not an absolute URL: " + std::string(text.substr(0, 200)));
}

}  // namespace

Result<std::string> canonical_url_key(std::string_view given) {
  const std::string_view text = trimmed(given);
  if (text.size() > kMaxUrlBytes) return fail(Code::bad_data, "a URL longer than 8192 bytes");
  const std::size_t authority = text.find("://");
  if (authority == std::string_view::npos || text.substr(authority + 3).starts_with('/') ||
      text.find('\0') != std::string_view::npos)
    return not_a_url(text);
  const std::unique_ptr<CURLU, UrlCleanup> url(curl_url());
  if (curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(),
                   CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE) != CURLUE_OK)
    return not_a_url(text);
  const std::string scheme = part_of(url.get(), CURLUPART_SCHEME).value_or("");
  const std::string host = canonical_host(part_of(url.get(), CURLUPART_HOST).value_or(""));
  const bool is_web = scheme == "http" || scheme == "https";
  if (host.empty() || host == ".") return not_a_url(text);
  std::string key = is_web ? "" : scheme + "://";
  if (const auto user = part_of(url.get(), CURLUPART_USER)) key += canonical_text(*user, "-._~", false) + "@";
  key += host;
  const std::string port = part_of(url.get(), CURLUPART_PORT).value_or("");
  if (!port.empty() && !(scheme == "http" && port == "80") && !(scheme == "https" && port == "443"))
    key += ":" + port;
  key += canonical_path(part_of(url.get(), CURLUPART_PATH).value_or(""));
  key += canonical_query(part_of(url.get(), CURLUPART_QUERY).value_or(""));
  key += canonical_route(part_of(url.get(), CURLUPART_FRAGMENT).value_or(""));
  return key;
}

}  // namespace metafuse
