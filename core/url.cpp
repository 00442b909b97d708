#include "core/url.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <arpa/inet.h>
#include <curl/curl.h>
#include <idn2.h>

#include "core/ascii.h"

namespace metafuse {
namespace {

constexpr std::size_t kMaxUrlBytes = 8192;
constexpr std::string_view kHex = "0123456789ABCDEF";

/// A set of characters that are written as themselves, not percent-encoded.
class PlainSet {
 public:
  constexpr explicit PlainSet(std::string_view others) {
    for (char c = 'a'; c <= 'z'; ++c) add(c);
    for (char c = 'A'; c <= 'Z'; ++c) add(c);
    for (char c = '0'; c <= '9'; ++c) add(c);
    for (const char c : others) add(c);
  }
  constexpr bool has(char c) const { return is_plain_[static_cast<unsigned char>(c)]; }

 private:
  constexpr void add(char c) { is_plain_[static_cast<unsigned char>(c)] = true; }

  std::array<bool, 256> is_plain_{};
};

/// For a decoded path: `/`, `?`, `#`, `%` and control characters are not plain.
constexpr PlainSet kPlainInPath("-._~!$&'()*+,;=:@");
/// For a query, where `&`, `=` and `+` have a meaning.
constexpr PlainSet kPlainInQuery("-._~!$'()*,;:@/?");
constexpr PlainSet kPlainInRoute("-._~!$&'()*+,;=:@?/");
constexpr PlainSet kPlainInHost("-._~:");
constexpr PlainSet kPlainInUser("-._~");
constexpr PlainSet kHostName("-.");
/// For a whole path that is already canonical.
constexpr PlainSet kPlainPath("-._~!$&'()*+,=:@/");

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

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = ascii_lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/// Appends each character in its one canonical form: itself if it is plain, else %XX in capitals. An encoded
/// slash stays encoded, so it remains distinct from a separator.
void append_canonical(std::string& out, std::string_view text, const PlainSet& plain,
                      bool has_plus_for_blank = false) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::size_t run = at;
    while (run < text.size() && (plain.has(text[run]) || text[run] == '/')) ++run;
    out.append(text, at, run - at);
    if (run == text.size()) return;
    at = run;
    char c = text[at];
    if (c == '%' && at + 2 < text.size() && hex_value(text[at + 1]) >= 0 && hex_value(text[at + 2]) >= 0) {
      c = static_cast<char>(hex_value(text[at + 1]) * 16 + hex_value(text[at + 2]));
      at += 2;
    } else if (c == '+' && has_plus_for_blank) {
      c = ' ';
    }
    if (plain.has(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
}

std::string_view without_www(std::string_view host) {
  return host.starts_with("www.") && host.find('.', 4) != std::string_view::npos ? host.substr(4) : host;
}

/// Appends an IPv6 address in its shortest form, or a name in lower-case ASCII form, without `www.` and final
/// dots. Appends nothing if there is no host.
void append_host(std::string& out, std::string host) {
  if (host.size() > 2 && host.front() == '[') {
    std::array<unsigned char, 16> bytes{};
    std::array<char, INET6_ADDRSTRLEN> text{};
    const std::string inner = host.substr(1, host.find_first_of("]%") - 1);
    const bool is_address = inet_pton(AF_INET6, inner.c_str(), bytes.data()) == 1 &&
                            inet_ntop(AF_INET6, bytes.data(), text.data(), text.size()) != nullptr;
    out += is_address ? "[" + std::string(text.data()) + "]" : host;
    return;
  }
  for (char& c : host) c = ascii_lower(c);
  if (std::any_of(host.begin(), host.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    char* ascii = nullptr;
    if (idn2_to_ascii_8z(host.c_str(), &ascii, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT) == IDN2_OK) {
      host = ascii;
      idn2_free(ascii);
    }
  }
  while (host.size() > 1 && host.back() == '.') host.pop_back();
  append_canonical(out, without_www(host), kPlainInHost);
}

/// `;jsessionid=...` at the end of a path segment identifies a visitor, not a page.
std::string without_session(std::string path) {
  std::string small = path;
  for (char& c : small) c = ascii_lower(c);
  const std::size_t at = small.find(";jsessionid=");
  if (at != std::string::npos) path.erase(at, std::min(path.find('/', at), path.size()) - at);
  return path;
}

void append_path(std::string& out, std::string_view path) {
  const std::size_t begin = out.size();
  if (path.find(';') == std::string_view::npos)
    append_canonical(out, path, kPlainInPath);
  else
    append_canonical(out, without_session(std::string(path)), kPlainInPath);
  while (out.size() > begin && out.back() == '/') out.pop_back();
}

std::string_view name_of_parameter(std::string_view parameter) {
  return parameter.substr(0, parameter.find('='));
}

/// in:     out - from `begin` on it holds canonical parameters, each followed by an `&`
void sort_parameters(std::string& out, std::size_t begin) {
  const std::string query = out.substr(begin);
  std::vector<std::string_view> parameters;
  for (std::string_view rest = query; !rest.empty();) {
    const std::size_t size = rest.find('&') + 1;
    parameters.push_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  std::stable_sort(parameters.begin(), parameters.end(), [](std::string_view a, std::string_view b) {
    return name_of_parameter(a.substr(0, a.size() - 1)) < name_of_parameter(b.substr(0, b.size() - 1));
  });
  out.resize(begin);
  for (const std::string_view parameter : parameters) out += parameter;
}

/// Appends the parameters sorted by name; several values of one name keep their order.
void append_query(std::string& out, std::string_view query, const TrackingParameters& tracking) {
  if (query.empty()) return;
  out += '?';
  const std::size_t begin = out.size();
  std::size_t last_begin = begin, last_size = 0;  // the name of the previous parameter
  bool is_sorted = true;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view piece = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (piece.empty()) continue;
    const std::size_t at = out.size(), equals = piece.find('=');
    append_canonical(out, piece.substr(0, equals), kPlainInQuery, true);
    const std::string_view name = std::string_view(out).substr(at);
    if (tracking.has(name)) {
      out.resize(at);
      continue;
    }
    is_sorted = is_sorted && std::string_view(out).substr(last_begin, last_size) <= name;
    last_begin = at;
    last_size = name.size();
    if (equals != std::string_view::npos) {
      out += '=';
      append_canonical(out, piece.substr(equals + 1), kPlainInQuery, true);
    }
    out += '&';
  }
  if (!is_sorted) sort_parameters(out, begin);
  out.pop_back();  // the last `&`, or the `?` if no parameter remains
}

/// Single-page applications keep their route after `#!` or `#/`.
void append_route(std::string& out, std::string_view fragment) {
  if (!fragment.starts_with('!') && !fragment.starts_with('/')) return;
  const std::size_t begin = out.size();
  out += '#';
  append_canonical(out, fragment, kPlainInRoute);
  const std::string_view route = std::string_view(out).substr(begin + 1);
  if (route == "/" || route == "!" || route == "!/") out.resize(begin);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= 0x20) text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= 0x20) text.remove_suffix(1);
  return text;
}

struct Parts {
  std::string_view path, query, fragment;
};

/// Splits what follows the host into path, query and fragment.
Parts parts_behind_host(std::string_view rest) {
  Parts parts;
  const std::size_t hash = std::min(rest.find('#'), rest.size());
  parts.fragment = rest.substr(std::min(hash + 1, rest.size()));
  rest = rest.substr(0, hash);
  const std::size_t mark = std::min(rest.find('?'), rest.size());
  parts.query = rest.substr(std::min(mark + 1, rest.size()));
  parts.path = rest.substr(0, mark);
  return parts;
}

void append_parts(std::string& key, const Parts& parts, const TrackingParameters& tracking) {
  append_path(key, parts.path);
  append_query(key, parts.query, tracking);
  append_route(key, parts.fragment);
}

/// True if libcurl's parser would change something: blanks, non-ASCII characters, dot segments.
bool needs_parser(std::string_view rest) {
  char before = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (c <= 0x20 || c >= 0x7F || c == '\\' || (c == '.' && before == '/')) return true;
    if (c == '%' && (rest.substr(i, 3) == "%2e" || rest.substr(i, 3) == "%2E")) return true;
    before = c;
  }
  return false;
}

/// Appends the key of a URL that consists of host and path only, if the path is already canonical.
bool append_plain_path(std::string& key, std::string_view host, std::string_view path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!kPlainPath.has(path[i])) return false;
    if (path[i] == '.' && path[i - 1] == '/') return false;  // i > 0: a path begins with a slash
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  key.reserve(host.size() + path.size());
  key += host;
  key += path;
  return true;
}

/// Appends the key of a plain URL: lower-case ASCII host, no port, no user, no dot segments. Most URLs are
/// plain, and this is ten times faster than libcurl's parser, which handles the others.
bool append_plain(std::string& key, std::string_view text, const TrackingParameters& tracking) {
  const bool is_secure = text.starts_with("https://");
  if (!is_secure && !text.starts_with("http://")) return false;
  std::string_view rest = text.substr(is_secure ? 8 : 7);
  std::size_t host_end = 0;
  while (host_end < rest.size() && kHostName.has(rest[host_end])) ++host_end;
  const std::string_view host = rest.substr(0, host_end);
  rest.remove_prefix(host_end);
  if (!rest.empty() && rest.front() != '/' && rest.front() != '?' && rest.front() != '#') return false;
  if (host.empty() || host.front() == '.' || host.front() == '-' ||
      std::any_of(host.begin(), host.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
    return false;
  const std::size_t last_label = host.rfind('.') + 1;                     // 0 for a single label
  if (last_label >= host.size() || host[last_label] < 'a') return false;  // numbers may be addresses
  if (append_plain_path(key, without_www(host), rest)) return true;
  if (needs_parser(rest)) return false;
  key.reserve(text.size());
  key += without_www(host);
  append_parts(key, parts_behind_host(rest), tracking);
  return true;
}

bool append_any(std::string& key, std::string_view text, const TrackingParameters& tracking) {
  const std::unique_ptr<CURLU, UrlCleanup> url(curl_url());
  if (curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(),
                   CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE) != CURLUE_OK)
    return false;
  const auto part = [&](CURLUPart which) { return part_of(url.get(), which).value_or(""); };
  const std::string scheme = part(CURLUPART_SCHEME), user = part(CURLUPART_USER), port = part(CURLUPART_PORT);
  if (scheme != "http" && scheme != "https") key += scheme + "://";
  if (!user.empty()) {
    append_canonical(key, user, kPlainInUser);
    key += '@';
  }
  const std::size_t host_begin = key.size();
  append_host(key, scheme == "file" ? "localhost" : part(CURLUPART_HOST));  // curl omits it
  if (key.size() == host_begin || std::string_view(key).substr(host_begin) == ".") return false;
  const bool is_own_port = (scheme == "http" && port == "80") || (scheme == "https" && port == "443");
  if (!port.empty() && !is_own_port) key += ":" + port;
  const std::string path = part(CURLUPART_PATH), query = part(CURLUPART_QUERY);
  const std::string fragment = part(CURLUPART_FRAGMENT);
  append_parts(key, {path, query, fragment}, tracking);
  return true;
}

Error not_a_url(std::string_view text) {
  return fail(Code::bad_data, "not an absolute URL: " + std::string(text.substr(0, 200)));
}

}  // namespace

Result<std::string> canonical_url_key(std::string_view given, const TrackingParameters& tracking) {
  const std::string_view text = trimmed(given);
  if (text.size() > kMaxUrlBytes) return fail(Code::bad_data, "a URL longer than 8192 bytes");
  const std::size_t authority = text.find("://");
  if (authority == std::string_view::npos || text.substr(authority + 3).starts_with('/') ||
      text.find('\0') != std::string_view::npos)
    return not_a_url(text);
  std::string key;
  if (append_plain(key, text, tracking)) return key;
  key.clear();
  if (!append_any(key, text, tracking)) return not_a_url(text);
  return key;
}

}  // namespace metafuse
