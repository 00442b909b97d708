#include "fetchers/engines/http/authorization.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "core/digest.h"
#include "core/encoding.h"
#include "core/text.h"
#include "core/url.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {
namespace {

/// Bytes as text: base64 or lower-case hexadecimal digits.
std::string written(const std::string& bytes, bool is_base64 = false) {
  return is_base64 ? base64_encoded(bytes) : hex_encoded(bytes);
}

HashMethod method_named(std::string_view name) {
  if (name == "sha1") return HashMethod::sha1;
  return name == "sha512" ? HashMethod::sha512 : HashMethod::sha256;
}

/// A URL's path, and its query without the question mark.
std::pair<std::string_view, std::string_view> path_and_query(std::string_view target) {
  const std::size_t mark = std::min(target.find('?'), target.size());
  return {target.substr(0, mark), target.substr(std::min(mark + 1, target.size()))};
}

std::optional<std::string> value_named(std::string_view name, const EngineRequest& request,
                                       std::int64_t unix_time, bool is_base64, std::string_view signature) {
  const auto parts = parts_of_url(request.url);
  const auto [path, query] =
      path_and_query(parts ? std::string_view(parts->path_and_query) : std::string_view());
  if (name == "method") return request.method;
  if (name == "path") return std::string(path);
  if (name == "query") return std::string(query);
  if (name == "host") return parts ? parts->host : std::string();
  if (name == "timestamp") return std::to_string(unix_time);
  if (name == "date") return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(unix_time));
  if (name == "body") return request.body;
  if (name == "body_sha256") return written(sha256(request.body), is_base64);
  if (name == "signature") return std::string(signature);
  return std::nullopt;
}

}  // namespace

Result<std::string> filled_signature_text(std::string_view text, const EngineRequest& request,
                                          std::int64_t unix_time, bool is_base64,
                                          std::string_view signature) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    out += text.substr(0, open);
    text.remove_prefix(open);
    if (text.empty()) break;
    const std::size_t close = text.find('}');
    const std::string_view name = close == std::string_view::npos ? text : text.substr(1, close - 1);
    const auto value = value_named(name, request, unix_time, is_base64, signature);
    if (!value)
      return fail(Code::bad_config,
                  "unknown {" + std::string(name) +
                      "}; use one of {method}, {path}, {query}, {host}, {timestamp}, {date}, {body}, "
                      "{body_sha256} and {signature}");
    out += *value;
    text.remove_prefix(close + 1);
  }
  return out;
}

void sign_request(EngineRequest& request, const Authorization& auth, std::int64_t unix_time) {
  const auto filled = [&](const std::string& text, std::string_view signature) {
    auto out = filled_signature_text(text, request, unix_time, auth.is_base64, signature);
    return out ? std::move(*out) : std::string();  // checked when the definition was read
  };
  const std::string signature =
      written(hmac(method_named(auth.algorithm), auth.secret, filled(auth.message, "")), auth.is_base64);
  for (const auto& [name, value] : auth.headers) request.headers.emplace_back(name, filled(value, signature));
}

namespace {

// Amazon's Signature Version 4: a digest of the request in canonical form is signed with a key derived from
// the secret, the day, the region and the service.

/// The path without `.`, `..` and repeated slashes, with each segment percent-encoded once more.
std::string canonical_path(std::string_view path) {
  std::vector<std::string_view> pieces;
  const bool is_folder = path.ends_with('/') || path.ends_with("/.") || path.ends_with("/..");
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view piece = path.substr(0, end);
    if (piece == ".." && !pieces.empty()) pieces.pop_back();
    if (!piece.empty() && piece != "." && piece != "..") pieces.push_back(piece);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  std::string out;
  for (const std::string_view piece : pieces) out += "/" + percent_encoded(piece);
  return out.empty() || is_folder ? out + "/" : out;
}

/// The parameters sorted by name and value, both encoded anew.
std::string canonical_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parameters;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view one = query.substr(0, end);
    const std::size_t equals = std::min(one.find('='), one.size());
    const auto anew = [](std::string_view text) { return percent_encoded(percent_decoded(text)); };
    if (!one.empty())
      parameters.emplace_back(anew(one.substr(0, equals)),
                              anew(one.substr(std::min(equals + 1, one.size()))));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  std::sort(parameters.begin(), parameters.end());
  std::string out;
  for (const auto& [name, value] : parameters)
    out.append(out.empty() ? "" : "&").append(name).append("=").append(value);
  return out;
}

/// A header's value with runs of blanks reduced to one, and none at the ends.
std::string trimmed_value(std::string_view value) {
  std::string out;
  for (const char c : value)
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string host_header(const UrlParts& parts) {
  const int usual = parts.scheme == "https" ? 443 : 80;
  return parts.port == usual ? parts.host : parts.origin();
}

/// The headers that are signed, by their lower-case names: the host, those that the signature adds, and the
/// body's type.
std::map<std::string, std::string> headers_to_sign(const EngineRequest& request, const UrlParts& parts,
                                                   const StringPairs& added) {
  std::map<std::string, std::string> out = {{"host", host_header(parts)}};
  for (const auto& [name, value] : added) out[ascii_lower(name)] = trimmed_value(value);
  for (const auto& [name, value] : request.headers)
    if (equal_ignoring_case(name, "content-type")) out["content-type"] = trimmed_value(value);
  return out;
}

std::string aws_signature(const Authorization& auth, std::string_view day, std::string_view text) {
  std::string key = "AWS4" + auth.secret;
  for (const std::string_view part : {day, std::string_view(auth.region), std::string_view(auth.service),
                                      std::string_view("aws4_request"), text})
    key = hmac(HashMethod::sha256, key, part);
  return written(key);
}

}  // namespace

void sign_aws_request(EngineRequest& request, const Authorization& auth, std::int64_t unix_time) {
  // Some of Amazon's services take a plus sign in a query literally.
  for (std::size_t at = std::min(request.url.find('?'), request.url.size()); at < request.url.size(); ++at)
    if (request.url[at] == '+') request.url.replace(at, 1, "%20");
  const auto parts = parts_of_url(request.url);
  if (!parts) return;  // the transport will reject it
  const std::string time = fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(unix_time));
  const std::string day = time.substr(0, 8);
  const std::string body_digest = written(sha256(request.body));
  StringPairs added = {{"X-Amz-Date", time}};
  if (auth.signs_content) added.emplace_back("X-Amz-Content-Sha256", body_digest);
  if (!auth.session_token.empty()) added.emplace_back("X-Amz-Security-Token", auth.session_token);

  const auto [path, query] = path_and_query(parts->path_and_query);
  std::string canonical =
      fmt::format("{}\n{}\n{}\n", request.method, canonical_path(path), canonical_query(query));
  std::string names;
  for (const auto& [name, value] : headers_to_sign(request, *parts, added)) {
    canonical += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  canonical += "\n" + names + "\n" + body_digest;

  const std::string scope = fmt::format("{}/{}/{}/aws4_request", day, auth.region, auth.service);
  const std::string text =
      fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", time, scope, written(sha256(canonical)));
  std::move(added.begin(), added.end(), std::back_inserter(request.headers));
  request.headers.emplace_back(
      "Authorization", fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
                                   auth.client_id, scope, names, aws_signature(auth, day, text)));
}

}  // namespace metafuse::fetchers
