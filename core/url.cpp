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

struct Parts {
  std::string scheme, user, host, port, path, query, fragment;
};

/// The parts of a URL that is plain: small ASCII name, no port, no user, no dots to resolve. Most are, and
/// are read ten times faster than by the parser, which reads the others.
bool read_plain(std::string_view text, Parts& parts) {
  const bool is_secure = text.starts_with("https://");
  if (!is_secure && !text.starts_with("http://")) return false;
  std::string_view rest = text.substr(is_secure ? 8 : 7);
  const std::size_t host_end = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string_view host = rest.substr(0, host_end);
  const bool is_name = !host.empty() && host.front() != '.' && host.front() != '-' &&
                       std::all_of(host.begin(), host.end(), [](char c) {
                         return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
                       });
  const std::size_t last_label = host.rfind('.') + 1;  // 0 for a single label
  if (!is_name || last_label >= host.size() || host[last_label] < 'a')
    return false;  // numbers may be addresses
  rest.remove_prefix(host_end);
  for (std::size_t i = 0; i < rest.size(); ++i)
    if (rest[i] <= 0x20 || rest[i] >= 0x7F || rest[i] == '\\' ||
        (rest[i] == '.' && i > 0 && rest[i - 1] == '/') || (rest[i] == '%' && rest.substr(i, 3) == "%2e") ||
        (rest[i] == '%' && rest.substr(i, 3) == "%2E"))
      return false;
  parts.scheme = is_secure ? "https" : "http";
  parts.host = host;
  const std::size_t hash = std::min(rest.find('#'), rest.size());
  parts.fragment = rest.substr(std::min(hash + 1, rest.size()));
  rest = rest.substr(0, hash);
  const std::size_t mark = std::min(rest.find('?'), rest.size());
  parts.query = rest.substr(std::min(mark + 1, rest.size()));
  parts.path = rest.substr(0, mark);
  return true;
}

bool read_any(std::string_view text, Parts& parts) {
  const std::unique_ptr<CURLU, UrlCleanup> url(curl_url());
  if (curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(),
                   CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE) != CURLUE_OK)
    return false;
  parts.scheme = part_of(url.get(), CURLUPART_SCHEME).value_or("");
  parts.user = part_of(url.get(), CURLUPART_USER).value_or("");
  parts.host = part_of(url.get(), CURLUPART_HOST).value_or("");
  parts.port = part_of(url.get(), CURLUPART_PORT).value_or("");
  parts.path = part_of(url.get(), CURLUPART_PATH).value_or("");
  parts.query = part_of(url.get(), CURLUPART_QUERY).value_or("");
  parts.fragment = part_of(url.get(), CURLUPART_FRAGMENT).value_or("");
  return true;
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
  Parts parts;
  if (!read_plain(text, parts) && !read_any(text, parts)) return not_a_url(text);
  const std::string host = canonical_host(std::move(parts.host));
  if (host.empty() || host == ".") return not_a_url(text);
  const bool is_web = parts.scheme == "http" || parts.scheme == "https";
  const bool is_own_port =
      (parts.scheme == "http" && parts.port == "80") || (parts.scheme == "https" && parts.port == "443");
  std::string key = is_web ? "" : parts.scheme + "://";
  if (!parts.user.empty()) key += canonical_text(parts.user, "-._~", false) + "@";
  key += host;
  if (!parts.port.empty() && !is_own_port) key += ":" + parts.port;
  key += canonical_path(std::move(parts.path));
  key += canonical_query(parts.query);
  key += canonical_route(parts.fragment);
  return key;
}

}  // namespace metafuse
