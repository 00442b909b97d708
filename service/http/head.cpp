#include "service/http/head.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/field_value.h"
#include "core/text.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::size_t kMaxFields = 200;

bool is_token_char(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kOthers.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool is_host(std::string_view text) {
  constexpr std::string_view kAllowed = "-._~!$&'()*+,;=:[]%";
  if (text.empty() || text.size() > 300) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kAllowed.find(c) != std::string_view::npos;
  });
}

Refusal refuse_head(int status, std::string reason) {
  return Refusal{status, std::move(reason)};
}

/// Reads the pairs of "a=b&c=d", also those after a malformed one: they say in which form the client wants
/// to be told about it.
///
/// out: what the form has that it may not have; "" for nothing
std::string_view read_form(std::string_view text, Fields& out) {
  std::string_view mistake;
  while (!text.empty()) {
    const std::string_view pair = take_until(text, '&');
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    auto name = percent_decode(pair.substr(0, equals), true);
    auto value = percent_decode(equals == std::string_view::npos ? "" : pair.substr(equals + 1), true);
    if (!name || !value) {
      mistake = "malformed percent-encoding or is not UTF-8";
      continue;
    }
    if (out.size() >= kMaxFields) return "more than 200 parameters";
    out.emplace_back(std::move(*name), std::move(*value));
  }
  return mistake;
}

/// Removes the next CRLF-terminated line from `rest`; false for a bare CR or LF, or a missing end.
bool take_line(std::string_view& rest, std::string_view& line) {
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos || end == 0 || rest[end - 1] != '\r') return false;
  line = rest.substr(0, end - 1);
  rest.remove_prefix(end + 1);
  return line.find('\r') == std::string_view::npos;
}

std::optional<Refusal> parse_target(std::string_view target, HttpRequest& request) {
  if (target.size() > kMaxTargetBytes) return refuse_head(414, "the target is longer than 8000 bytes");
  request.target = std::string(target);
  request.path = request.target.substr(0, request.target.find('?'));
  if (target == "*" && request.method == "OPTIONS") return std::nullopt;
  if (target.empty() || target.front() != '/') return refuse_head(400, "the target does not start with /");
  for (const char c : target)
    if (c <= 0x20 || c >= 0x7f || c == '#' || c == '\\' || c == '"' || c == '<' || c == '>')
      return refuse_head(400, "the target holds a character that must be percent-encoded");
  const std::size_t mark = target.find('?');
  const std::string_view mistake =
      mark == std::string_view::npos ? std::string_view() : read_form(target.substr(mark + 1), request.query);
  auto path = percent_decode(target.substr(0, mark), false);
  if (!path) return refuse_head(400, "the path has malformed percent-encoding or is not UTF-8");
  request.path = std::move(*path);
  if (!mistake.empty()) return refuse_head(400, "the query has " + std::string(mistake));
  return std::nullopt;
}

/// The host of a target in absolute form; empty for any other form.
struct Authority {
  std::string_view host;        ///< with its port, unless that is the usual one
  std::string_view usual_port;  ///< with a colon

  bool is(std::string_view host_field) const {
    if (host_field.ends_with(usual_port)) host_field.remove_suffix(usual_port.size());
    return equal_ignoring_case(host, host_field);
  }
};

/// Removes "http://HOST" from the front of a target in absolute form, which servers must accept (RFC 9112,
/// 3.2.2).
Authority take_authority(std::string_view& target) {
  for (const auto& [scheme, port] :
       {std::pair<std::string_view, std::string_view>{"http://", ":80"}, {"https://", ":443"}}) {
    if (!equal_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t begin = scheme.size();
    const std::size_t end = std::min(target.find_first_of("/?#", begin), target.size());
    std::string_view host = target.substr(begin, end - begin);
    if (host.ends_with(port)) host.remove_suffix(port.size());
    if (!host.empty()) target.remove_prefix(end);
    return {host, port};
  }
  return {};
}

/// out: authority - of a target in absolute form
std::optional<Refusal> parse_request_line(std::string_view line, HttpHead& out, Authority& authority) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return refuse_head(400, "the request line does not have three parts");
  const std::string_view method = line.substr(0, first);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(method)) return refuse_head(400, "the method is not a token");
  const bool is_version = version.size() == 8 && version.starts_with("HTTP/") && version[6] == '.' &&
                          version[5] >= '0' && version[5] <= '9' && version[7] >= '0' && version[7] <= '9';
  if (!is_version) return refuse_head(400, "the version is not HTTP/1.1");
  if (version[5] != '1' || version[7] > '1')
    return refuse_head(505, "only HTTP/1.0 and HTTP/1.1 are supported");
  static constexpr std::array<std::string_view, 7> kMethods = {"GET",   "HEAD",    "POST",  "PUT",
                                                               "PATCH", "OPTIONS", "DELETE"};
  if (std::find(kMethods.begin(), kMethods.end(), method) == kMethods.end())
    return refuse_head(501, "unknown method");
  out.request.method = std::string(method);
  out.is_head = method == "HEAD";
  out.request.is_http_1_0 = version[7] == '0';
  out.keeps_alive = !out.request.is_http_1_0;
  std::string_view target = line.substr(first + 1, last - first - 1);
  authority = take_authority(target);
  if (!authority.host.empty() && !target.starts_with('/'))
    return parse_target("/" + std::string(target), out.request);
  return parse_target(target, out.request);
}

std::optional<Refusal> parse_field(std::string_view line, HttpRequest& request) {
  if (line.front() == ' ' || line.front() == '\t') return refuse_head(400, "a folded header line");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    return refuse_head(400, "a header's name is not a token");
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_field_value(value)) return refuse_head(400, "a header's value holds a control character");
  if (request.headers.size() >= kMaxHeaders) return refuse_head(431, "more than 100 header lines");
  request.headers.push_back({std::string(line.substr(0, colon)), std::string(value)});
  return std::nullopt;
}

std::optional<Refusal> parse_fields(std::string_view text, HttpRequest& request) {
  request.headers.reserve(16);
  std::string_view line;
  while (take_line(text, line)) {
    if (line.empty()) return std::nullopt;
    if (auto refusal = parse_field(line, request)) return refusal;
  }
  return refuse_head(400, "a line does not end with CR LF");
}

std::size_t count_of(const HttpRequest& request, std::string_view name) {
  return static_cast<std::size_t>(
      std::count_if(request.headers.begin(), request.headers.end(),
                    [&](const Header& header) { return equal_ignoring_case(header.name, name); }));
}

/// Whether a list such as "close, TE" contains a token.
bool lists_token(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    if (equal_ignoring_case(trimmed(item), token)) return true;
  }
  return false;
}

std::optional<Refusal> check_host(const HttpRequest& request) {
  const std::size_t hosts = count_of(request, "Host");
  if (hosts > 1) return refuse_head(400, "more than one Host");
  if (hosts == 0 && !request.is_http_1_0) return refuse_head(400, "no Host");
  if (hosts == 1 && !is_host(request.header("Host"))) return refuse_head(400, "Host is not a host");
  return std::nullopt;
}

/// Checks that Host says the same as the target. In HTTP/1.0 the target may say it alone.
std::optional<Refusal> check_authority(const Authority& authority, HttpRequest& request) {
  if (request.is_http_1_0 && count_of(request, "Host") == 0)
    request.headers.push_back({"Host", std::string(authority.host)});
  const std::string_view host = request.header("Host");
  if (host.empty() || authority.is(host)) return std::nullopt;  // check_host() says what an empty one lacks
  return refuse_head(400, "Host is not that of the target");
}

std::optional<Refusal> check_length(std::uint64_t max_body_bytes, HttpHead& out) {
  const std::string_view value = out.request.header("Content-Length");
  if (count_of(out.request, "Content-Length") > 1) return refuse_head(400, "more than one Content-Length");
  if (value.empty() || value.find_first_not_of("0123456789") != std::string_view::npos)
    return refuse_head(400, "Content-Length is not a number");
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out.content_length);
  if (error != std::errc() || out.content_length > max_body_bytes) return long_body(max_body_bytes);
  return std::nullopt;
}

std::optional<Refusal> check_coding(HttpHead& out) {
  if (count_of(out.request, "Transfer-Encoding") > 1)
    return refuse_head(400, "more than one Transfer-Encoding");
  if (count_of(out.request, "Content-Length") > 0)
    return refuse_head(400, "both Content-Length and Transfer-Encoding");
  if (out.request.is_http_1_0) return refuse_head(400, "Transfer-Encoding on HTTP/1.0");
  if (!equal_ignoring_case(out.request.header("Transfer-Encoding"), "chunked"))
    return refuse_head(501, "the only supported transfer coding is chunked");
  out.is_chunked = true;
  return std::nullopt;
}

std::optional<Refusal> check_framing(std::uint64_t max_body_bytes, HttpHead& out) {
  if (auto refusal = check_host(out.request)) return refusal;
  if (count_of(out.request, "Transfer-Encoding") > 0) {
    if (auto refusal = check_coding(out)) return refusal;
  } else if (count_of(out.request, "Content-Length") > 0) {
    if (auto refusal = check_length(max_body_bytes, out)) return refusal;
  }
  if (count_of(out.request, "Expect") > 0) {
    if (!equal_ignoring_case(out.request.header("Expect"), "100-continue"))
      return refuse_head(417, "the only supported expectation is 100-continue");
    out.wants_continue = !out.request.is_http_1_0;  // RFC 9110, 10.1.1
  }
  const std::string connection = out.request.list("Connection");
  if (out.request.is_http_1_0 && lists_token(connection, "keep-alive")) out.keeps_alive = true;
  if (lists_token(connection, "close")) out.keeps_alive = false;
  return std::nullopt;
}

}  // namespace

Refusal long_body(std::uint64_t max_body_bytes) {
  return Refusal{413, "the body is longer than " + std::to_string(max_body_bytes) + " bytes"};
}

std::optional<Refusal> parse_head(std::string_view text, std::uint64_t max_body_bytes, HttpHead& out) {
  std::string_view line;
  Authority authority;
  if (!take_line(text, line)) return refuse_head(400, "a line does not end with CR LF");
  auto refusal = parse_request_line(line, out, authority);
  // the fields are read all the same: they say in which form the client wants to be told
  if (auto of_fields = parse_fields(text, out.request); !refusal) refusal = std::move(of_fields);
  if (!refusal && !authority.host.empty()) refusal = check_authority(authority, out.request);
  return refusal ? refusal : check_framing(max_body_bytes, out);
}

std::size_t empty_lines_before(std::string_view text) {
  std::size_t bytes = 0;
  while (bytes < 2 * kLineEnd.size() && text.substr(bytes).starts_with(kLineEnd)) bytes += kLineEnd.size();
  return bytes;
}

std::optional<std::size_t> head_end(std::string_view text) {
  const std::size_t end = text.substr(0, kMaxHeadBytes).find(kHeadEnd);
  if (end == std::string_view::npos) return std::nullopt;
  return end + kHeadEnd.size();
}

std::optional<Refusal> hopeless_head(std::string_view text) {
  if (text.size() >= kMaxHeadBytes) {
    if (text.find(kLineEnd) > kMaxTargetBytes) return Refusal{414, "the request line is too long"};
    return Refusal{431, "the header is larger than 16 KiB"};
  }
  if (!text.empty() && (text.front() < 'A' || text.front() > 'z')) return Refusal{400, "no request line"};
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    if (at == 0 || text[at - 1] != '\r') return Refusal{400, "a line does not end with CR LF"};
  return std::nullopt;
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || hex_value(text[i + 1]) < 0 || hex_value(text[i + 2]) < 0)
        return std::nullopt;
      c = static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') return std::nullopt;
    out += c;
  }
  if (first_invalid_utf8(out) != std::string_view::npos) return std::nullopt;
  return out;
}

std::optional<Fields> parse_form(std::string_view text) {
  Fields out;
  if (!read_form(text, out).empty()) return std::nullopt;
  return out;
}

std::string form_value(const Fields& fields, std::string_view name) {
  for (const auto& [key, value] : fields)
    if (key == name) return value;
  return {};
}

}  // namespace metafuse::service
