// Signs requests to Amazon's services (OpenSearch, Kendra, Bedrock) by Signature Version 4: a digest of
// the request in canonical form is signed with a key derived from the secret, the day, the region and
// the service.

#include <algorithm>
#include <array>
#include <ctime>
#include <map>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "core/ascii.h"
#include "core/encoding.h"
#include "core/url_text.h"
#include "fetchers/definition/authorization.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {
namespace {

std::string aws_hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes)
    out += fmt::format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return out;
}

std::string aws_digest(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), bytes.data(), &size, EVP_sha256(), nullptr);
  return aws_hex({reinterpret_cast<const char*>(bytes.data()), size});
}

std::string aws_hmac(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data(), &size);
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

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

/// Writes blanks in a query as %20, because some of Amazon's services take a plus sign literally.
void spell_blanks(std::string& url) {
  for (std::size_t at = std::min(url.find('?'), url.size()); at < url.size(); ++at)
    if (url[at] == '+') url.replace(at, 1, "%20");
}

}  // namespace

void sign_aws_request(HttpRequest& request, const Authorization& auth, std::int64_t unix_time) {
  spell_blanks(request.url);
  const auto parts = parts_of_url(request.url);
  if (!parts) return;  // the transport will reject it
  const auto moment = static_cast<std::time_t>(unix_time);
  std::tm utc{};
  gmtime_r(&moment, &utc);
  std::array<char, 24> stamp{};
  std::strftime(stamp.data(), stamp.size(), "%Y%m%dT%H%M%SZ", &utc);
  const std::string time = stamp.data();
  const std::string day = time.substr(0, 8);
  const std::string body_digest = aws_digest(request.body);

  StringPairs added = {{"X-Amz-Date", time}};
  if (auth.signs_content) added.emplace_back("X-Amz-Content-Sha256", body_digest);
  if (!auth.session_token.empty()) added.emplace_back("X-Amz-Security-Token", auth.session_token);
  std::map<std::string, std::string> signed_headers = {{"host", host_header(*parts)}};
  for (const auto& [name, value] : added) signed_headers[ascii_lower(name)] = trimmed_value(value);
  for (const auto& [name, value] : request.headers)
    if (ascii_lower(name) == "content-type") signed_headers["content-type"] = trimmed_value(value);

  const std::string& target = parts->path_and_query;
  const std::size_t mark = std::min(target.find('?'), target.size());
  std::string canonical = request.method + "\n" + canonical_path(target.substr(0, mark)) + "\n" +
                          canonical_query(target.substr(std::min(mark + 1, target.size()))) + "\n";
  std::string names;
  for (const auto& [name, value] : signed_headers) {
    canonical += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  canonical += "\n" + names + "\n" + body_digest;

  const std::string scope = fmt::format("{}/{}/{}/aws4_request", day, auth.region, auth.service);
  std::string key = "AWS4" + auth.secret;
  for (const std::string_view part : {std::string_view(day), std::string_view(auth.region),
                                      std::string_view(auth.service), std::string_view("aws4_request")})
    key = aws_hmac(key, part);
  const std::string signature =
      aws_hex(aws_hmac(key, fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", time, scope, aws_digest(canonical))));
  for (auto& header : added) request.headers.push_back(std::move(header));
  request.headers.emplace_back(
      "Authorization", fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
                                   auth.client_id, scope, names, signature));
}

}  // namespace metafuse::fetchers
