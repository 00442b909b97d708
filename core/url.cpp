#include "core/url.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include <arpa/inet.h>
#include <curl/curl.h>
#include <idn2.h>

#include "core/byte_blocks.h"
#include "core/text.h"

namespace metafuse {
namespace {

constexpr std::size_t kMaxUrlBytes = 8192;
constexpr std::string_view kHex = "0123456789ABCDEF";

/// A set of characters that are written as themselves, not percent-encoded.
class PlainSet {
 public:
  constexpr explicit PlainSet(std::string_view others) {
    for (int c = 0; c < 128; ++c)
      is_plain_[static_cast<std::size_t>(c)] = is_ascii_letter_or_digit(static_cast<char>(c));
    for (const char c : others) is_plain_[static_cast<unsigned char>(c)] = true;
  }
  constexpr bool has(char c) const { return is_plain_[static_cast<unsigned char>(c)]; }

 private:
  std::array<bool, 256> is_plain_{};
};

/// For a decoded path: `/`, `?`, `#`, `%` and control characters are not plain.
constexpr PlainSet kPlainInPath("-._~!$&'()*+,;=:@");
/// For a query, where `&`, `=` and `+` have a meaning.
constexpr PlainSet kPlainInQuery("-._~!$'()*,;:@/?");
constexpr PlainSet kPlainInRoute("-._~!$&'()*+,;=:@?/");
constexpr PlainSet kPlainInHost("-._~:");
constexpr PlainSet kPlainInUser("-._~");

struct UrlCleanup {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, UrlCleanup>;

std::optional<std::string> part_of(const Url& url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return std::nullopt;
  std::string out = text;
  curl_free(text);
  return out;
}

/// The text without blanks and control characters at both ends.
std::string_view trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= 0x20) text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= 0x20) text.remove_suffix(1);
  return text;
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
  while (host.starts_with("www.") && host.find('.', 4) != std::string_view::npos) host.remove_prefix(4);
  return host;
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
  host = ascii_host(host);
  while (host.size() > 1 && host.back() == '.') host.pop_back();
  append_canonical(out, without_www(host), kPlainInHost);
}

/// The path without `;jsessionid=...` at the ends of its segments, which identifies a visitor, not a page.
std::string without_sessions(std::string_view path) {
  const std::string lower = ascii_lower(path);
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t begin = std::min(lower.find(";jsessionid=", at), path.size());
    out += path.substr(at, begin - at);
    if (begin == path.size()) return out;
    at = std::min(path.find('/', begin), path.size());
  }
}

void append_path(std::string& out, std::string_view path) {
  const std::size_t begin = out.size();
  append_canonical(out, path, kPlainInPath);
  if (out.find(';', begin) != std::string::npos)
    out.replace(begin, std::string::npos, without_sessions(std::string_view(out).substr(begin)));
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
    const std::string_view piece = take_until(query, '&');
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

/// Finds each byte that no lower-case ASCII host name has.
constexpr auto is_beyond_host = [](ByteBlock bytes) {
  return ~((bytes - 'a' < 26) | (bytes - '0' < 10) | (bytes == '-') | (bytes == '.'));
};

/// Finds each byte that a canonical path does not have, slashes before dots, and for speed also some rare
/// bytes that it may have: ! $ =
constexpr auto may_be_uncanonical = [](ByteBlock bytes, ByteBlock next) {
  const auto low_or_not_ascii = (SignedBlock(bytes) <= '%') | (bytes == 0x7F);
  const auto is_special = (bytes == '`') | (bytes - ';' <= '?' - ';');
  const auto is_bracket = ((bytes | 0x20) - '{' <= '}' - '{') | (bytes == '^');
  return low_or_not_ascii | is_special | is_bracket | ((bytes == '/') & (next == '.'));
};

/// A URL with a lower-case ASCII host, without port, user and dot segments. Most URLs are plain, and reading
/// one is ten times faster than libcurl's parser, which handles the others.
struct PlainUrl {
  std::string_view host;  ///< without `www.`
  std::string_view rest;  ///< follows the host in the URL's text
  bool is_canonical;      ///< host and rest, but for slashes at the end, are known to be the key

  std::string_view key() const {
    std::string_view all(host.data(), host.size() + rest.size());
    while (all.ends_with('/')) all.remove_suffix(1);
    return all;
  }
};

std::optional<PlainUrl> read_plain(std::string_view text) {
  const bool is_secure = text.starts_with("https://");
  if (!is_secure && !text.starts_with("http://")) return std::nullopt;
  const bool is_canonical = holds_nowhere(text, may_be_uncanonical);
  text.remove_prefix(is_secure ? 8 : 7);
  const std::string_view host = text.substr(0, find_byte(text, is_beyond_host));
  const std::string_view rest = text.substr(host.size());
  if (!rest.empty() && rest.front() != '/' && rest.front() != '?' && rest.front() != '#') return std::nullopt;
  if (host.empty() || host.front() == '.' || host.front() == '-') return std::nullopt;
  const std::size_t last_label = host.rfind('.') + 1;                            // 0 for a single label
  if (last_label >= host.size() || host[last_label] < 'a') return std::nullopt;  // numbers may be addresses
  if (!is_canonical && needs_parser(rest)) return std::nullopt;
  return PlainUrl{without_www(host), rest, is_canonical};
}

bool append_plain(std::string& key, std::string_view text, const TrackingParameters& tracking) {
  const auto plain = read_plain(text);
  if (!plain) return false;
  if (plain->is_canonical) {
    key += plain->key();
    return true;
  }
  key.reserve(text.size());
  key += plain->host;
  append_parts(key, parts_behind_host(plain->rest), tracking);
  return true;
}

bool append_any(std::string& key, std::string_view text, const TrackingParameters& tracking) {
  const Url url(curl_url());
  if (curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(),
                   CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE) != CURLUE_OK)
    return false;
  const auto part = [&](CURLUPart which) { return part_of(url, which).value_or(""); };
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

constexpr int kMostRewrites = 6;

/// The key of a web page as rewritten by the rules for its site until none changes it; nullopt if none does.
/// What a rule writes is brought into canonical form again.
std::optional<std::string> same_page_key(std::string_view key, const TrackingParameters& tracking) {
  std::optional<std::string> out;
  for (int i = 0; i < kMostRewrites; ++i) {
    auto changed = tracking.same_page->rewritten(out ? *out : key);
    if (!changed) break;
    std::string again;
    if (!append_plain(again, "http://" + *changed, tracking) &&
        !append_any(again, "http://" + *changed, tracking))
      again = std::move(*changed);
    out = std::move(again);
  }
  return out;
}

Error not_a_url(std::string_view text) {
  return fail(Code::bad_data, "not an absolute URL: " + std::string(text.substr(0, 200)));
}

bool is_web_url(std::string_view url) {
  const std::string start = ascii_lower(url.substr(0, 9));
  return (start.starts_with("http://") && start.size() > 7) ||
         (start.starts_with("https://") && start.size() > 8);
}

/// A decimal number without leading zeros, up to `max`; -1 for any other text.
int plain_number(std::string_view digits, int max) {
  if (digits.empty() || digits.size() > 5 || (digits.size() > 1 && digits.front() == '0')) return -1;
  int value = 0;
  for (const char c : digits) {
    if (!is_ascii_digit(c)) return -1;
    value = value * 10 + (c - '0');
  }
  return value <= max ? value : -1;
}

/// "127.0.0.1": four numbers without leading zeros, the one form that all parsers read alike.
bool is_plain_ipv4(std::string_view host) {
  for (int i = 0; i < 4; ++i)
    if (plain_number(take_until(host, '.'), 255) < 0) return false;
  return host.empty();
}

/// A lower-case name whose last label begins with a letter, or an unambiguous IPv4 address.
bool is_plain_host(std::string_view host) {
  const auto is_plain = [](char c) { return is_ascii_small_or_digit(c) || c == '.' || c == '-'; };
  if (host.empty() || !std::all_of(host.begin(), host.end(), is_plain)) return false;
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
    parts.port = plain_number(host.substr(colon + 1), 65535);
    if (parts.port <= 0) return std::nullopt;
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

bool has_scheme(std::string_view text) {
  return text.find("://") < text.find_first_of("/?#");
}

std::string ascii_host(std::string_view host) {
  std::string out = ascii_lower(host);
  if (std::all_of(out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
    return out;
  char* ascii = nullptr;
  if (idn2_to_ascii_8z(out.c_str(), &ascii, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT) == IDN2_OK) {
    out = ascii;
    idn2_free(ascii);
  }
  return out;
}

Result<std::string> canonical_url_key(std::string_view given, const TrackingParameters& tracking) {
  const std::string_view text = trimmed(given);
  if (text.size() > kMaxUrlBytes) return fail(Code::bad_data, "a URL longer than 8192 bytes");
  if (const auto plain = read_plain(text); plain && plain->is_canonical) {
    auto changed = same_page_key(plain->key(), tracking);
    return changed ? std::move(*changed) : std::string(plain->key());
  }
  const std::size_t authority = text.find("://");
  if (authority == std::string_view::npos || text.substr(authority + 3).starts_with('/') ||
      text.find('\0') != std::string_view::npos)
    return not_a_url(text);
  std::string key;
  if (!append_plain(key, text, tracking) && !append_any(key, text, tracking)) return not_a_url(text);
  if (has_scheme(key)) return key;  // neither http nor https
  auto changed = same_page_key(key, tracking);
  return changed ? std::move(*changed) : std::move(key);
}

std::string without_tracking(std::string url, const TrackingParameters& tracking) {
  const std::size_t mark = url.find('?');
  if (mark == std::string::npos) return url;
  const std::size_t hash = std::min(url.find('#'), url.size());
  if (hash < mark) return url;
  const std::string_view query = std::string_view(url).substr(mark + 1, hash - mark - 1);
  std::string kept;
  for (std::string_view rest = query; !rest.empty();) {
    const std::string_view piece = take_until(rest, '&');
    if (tracking.has(name_of_parameter(piece))) continue;
    kept += (kept.empty() ? "?" : "&") + std::string(piece);
  }
  if (kept.size() == query.size() + 1 || (kept.empty() && query.empty())) return url;
  return url.substr(0, mark) + kept + url.substr(hash);
}

bool is_plain_web_url(std::string_view url) {
  if (!url.starts_with("http://") && !url.starts_with("https://")) return false;
  const bool is_ascii =
      holds_nowhere(url, [](ByteBlock bytes, ByteBlock) { return (bytes <= 0x20) | (bytes >= 0x7F); });
  url.remove_prefix(url[4] == 's' ? 8 : 7);
  const std::size_t host_size = find_byte(
      url, [](ByteBlock bytes) { return is_beyond_host(bytes) & ~((bytes >= 'A') & (bytes <= 'Z')); });
  return is_ascii && url.size() <= kMaxUrlBytes && host_size > 0 && url.front() != '.' &&
         (host_size == url.size() || url[host_size] == '/' || url[host_size] == '?' || url[host_size] == '#');
}

std::optional<std::string> resolved_url(std::string_view text, const std::string& base) {
  text = trimmed(text);
  if (text.empty() || text.size() > kMaxUrlBytes) return std::nullopt;
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
  return part_of(url, CURLUPART_URL);
}

bool is_onion_host(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  constexpr std::string_view kEnd = ".onion";
  return host.size() >= kEnd.size() && ascii_lower(host.substr(host.size() - kEnd.size())) == kEnd;
}

std::optional<UrlParts> parts_of_url(const std::string& text) {
  if (auto plain = parts_of_plain_url(text)) return plain;
  const Url url(curl_url());
  if (!is_web_url(text) || text.find("///") == text.find("://") + 1 ||
      curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_DISALLOW_USER) != CURLUE_OK)
    return std::nullopt;
  UrlParts parts;
  parts.scheme = part_of(url, CURLUPART_SCHEME).value_or("");
  parts.host = ascii_lower(part_of(url, CURLUPART_HOST).value_or(""));
  while (parts.host.size() > 1 && parts.host.back() == '.') parts.host.pop_back();
  parts.port = std::atoi(part_of(url, CURLUPART_PORT, CURLU_DEFAULT_PORT).value_or("0").c_str());
  parts.path_and_query = part_of(url, CURLUPART_PATH).value_or("/");
  if (const auto query = part_of(url, CURLUPART_QUERY)) parts.path_and_query += "?" + *query;
  if (parts.host.empty()) return std::nullopt;
  return parts;
}

}  // namespace metafuse
