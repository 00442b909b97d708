// Reads and checks `auth:` of a definition.

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/text.h"
#include "core/text_file.h"
#include "core/url.h"
#include "fetchers/engines/http/authorization.h"
#include "fetchers/engines/http/http_readers.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {
namespace {

/// Headers that concern the connection to this server, or authenticate against it.
constexpr std::array<std::string_view, 10> kNeverPassedOn = {
    "cookie",      "x-api-key",      "host",
    "connection",  "content-length", "transfer-encoding",
    "te",          "upgrade",        "proxy-authorization",
    "content-type"};

/// A text that a secret holds, or a file that is read now.
std::string take_text_or_file(EngineBlock& block, std::string_view key) {
  constexpr std::size_t kMaxKeyBytes = std::size_t{64} << 10;
  const std::string value = block.text(key);
  if (value.empty() || value.starts_with("${")) return value;
  if (value.find_first_of("{\n") != std::string::npos || value.starts_with("-----")) {
    block.error_at(key, "auth: " + std::string(key) +
                            " must name a file or a secret as ${NAME}; do not write the key itself here");
    return value;
  }
  const auto text = read_text((std::filesystem::path(block.folder) / value).string(), kMaxKeyBytes);
  if (!text) block.error_at(key, "auth: " + std::string(key) + ": " + text.error().text);
  return text ? *text : std::string();
}

/// Takes the address of the token server, and who asks there.
void take_token_server(EngineBlock& block, Authorization& auth) {
  auth.token_url = block.map.take_required_string("token_url");
  const auto parts = parts_of_url(auth.token_url);
  const bool is_safe =
      parts && (parts->scheme == "https" || parts->host == "localhost" || parts->host == "127.0.0.1");
  if (const YamlNode* url = block.map.take("token_url"); url != nullptr && url->is_scalar() && !is_safe)
    block.error_at("token_url", "auth: token_url must be https, because secrets are sent there");
  auth.client_id = block.map.take_required_string("client_id");
  block.take("client_secret", auth.client_secret);
  block.take("refresh_token", auth.refresh_token);
  block.take("basic", auth.is_basic);
  block.take("username", auth.username);
  block.take("password", auth.password);
  auth.private_key = take_text_or_file(block, "private_key");
  block.take("key_id", auth.key_id);
  if (auth.client_secret.empty() && auth.refresh_token.empty() && auth.private_key.empty() &&
      auth.password.empty())
    block.error("auth: oauth2 needs a client_secret, refresh_token, private_key or service_account");
  if (auth.username.empty() != auth.password.empty())
    block.error("auth: username and password belong together");
}

void take_oauth2(EngineBlock& block, Authorization& auth) {
  auth.kind = Authorization::Kind::oauth2;
  auth.service_account = take_text_or_file(block, "service_account");
  if (block.map.take("service_account") == nullptr) take_token_server(block, auth);
  block.take("subject", auth.subject);
  if (auth.subject.empty() && auth.service_account.empty()) auth.subject = auth.client_id;
  block.take("scope", auth.scope);
  block.take("audience", auth.audience);
  block.take("on_behalf_of", auth.is_on_behalf_of);
}

void take_hmac(EngineBlock& block, Authorization& auth) {
  auth.kind = Authorization::Kind::hmac;
  auth.secret = block.map.take_required_string("secret");
  auth.message = block.map.take_required_string("message");
  block.map.take_required("headers");
  auth.headers = take_header_fields(block, "headers");
  block.take("algorithm", auth.algorithm);
  if (auth.algorithm != "sha1" && auth.algorithm != "sha256" && auth.algorithm != "sha512")
    block.error("auth: algorithm must be sha256, sha512 or sha1");
  const std::string encoding = block.text("encoding", "hex");
  if (encoding != "hex" && encoding != "base64") block.error("auth: encoding must be hex or base64");
  auth.is_base64 = encoding == "base64";
  EngineRequest sample;
  sample.url = "https://host.example/";
  bool is_signed = false;
  const auto check = [&](const std::string& text) {
    std::string without_secrets = text;
    for (std::size_t at = without_secrets.find("${"); at != std::string::npos;
         at = without_secrets.find("${", at))
      without_secrets.erase(at, without_secrets.find('}', at) - at + 1);
    if (const auto filled = filled_signature_text(without_secrets, sample, 0, false, ""); !filled)
      block.error("auth: " + filled.error().text);
  };
  check(auth.message);
  for (const auto& [name, value] : auth.headers) {
    check(value);
    is_signed = is_signed || value.find("{signature}") != std::string::npos;
  }
  if (!is_signed) block.error("auth: one of the headers must contain {signature}");
}

/// A name in the credential scope of an Amazon signature.
std::string take_scope_name(EngineBlock& block, std::string_view key) {
  const YamlNode* node = block.map.take_required(key);
  std::string name = block.text(key);
  if (node != nullptr && node->is_scalar() && !is_made_of(name, kSmallLettersAndDigits, "-"))
    block.error_at(key, "auth: " + std::string(key) + " may contain only a-z, 0-9 and -");
  return name;
}

void take_aws(EngineBlock& block, Authorization& auth) {
  auth.kind = Authorization::Kind::aws;
  auth.region = take_scope_name(block, "region");
  auth.service = take_scope_name(block, "service");
  auth.client_id = block.map.take_required_string("access_key");
  auth.secret = block.map.take_required_string("secret_key");
  block.take("session_token", auth.session_token);
  // OpenSearch Serverless refuses requests without the header.
  auth.signs_content = block.map.take_bool("sign_content").value_or(auth.service == "aoss");
}

/// Reports a header of the searching client that cannot be passed on.
void check_forwarded(EngineBlock& block, std::string_view key, const std::string& name) {
  if (!is_header_name(name)) block.error_at(key, "auth: \"" + name + "\" is not a valid header name");
  const std::string lower = ascii_lower(name);
  if (std::find(kNeverPassedOn.begin(), kNeverPassedOn.end(), lower) != kNeverPassedOn.end())
    block.error_at(key, "auth: " + name + " is set by this server itself and cannot be passed on");
}

void take_forward(EngineBlock& block, Authorization& auth) {
  auth.kind = Authorization::Kind::forward;
  const YamlNode* node = block.map.take_required("headers");
  if (node != nullptr && node->is_map()) {
    for (const auto& [name, meant] : block.map.take_string_map("headers")) {
      const std::size_t colon = meant.find(':');
      const std::string backend = meant.substr(0, colon);
      auth.forwarded.push_back(name);
      auth.renamed.emplace_back(
          backend, colon == std::string::npos
                       ? ""
                       : std::string(ascii_trimmed(std::string_view(meant).substr(colon + 1))) + " ");
      if (!is_header_name(backend))
        block.error_at("headers", "auth: \"" + backend + "\" is not a valid header name");
    }
  } else {
    auth.forwarded = block.texts("headers");
  }
  if (node != nullptr && auth.forwarded.empty())
    block.error_at("headers", "auth: headers is empty; name the headers to pass on");
  for (const std::string& name : auth.forwarded) check_forwarded(block, "headers", name);
}

/// Takes `callers_token`: the header with the token of whoever searches, for bodies and for exchange.
void take_callers_header(EngineBlock& block, Authorization& auth) {
  block.take("callers_token", auth.callers_header);
  if (auth.is_on_behalf_of && auth.callers_header.empty())
    block.error("auth: on_behalf_of needs callers_token, the header with the token of whoever searches");
  if (auth.callers_header.empty()) return;
  check_forwarded(block, "callers_token", auth.callers_header);
  const bool is_known =
      std::any_of(auth.forwarded.begin(), auth.forwarded.end(),
                  [&](const std::string& name) { return equal_ignoring_case(name, auth.callers_header); });
  if (!is_known && auth.kind == Authorization::Kind::forward)
    block.error_at("callers_token", "auth: callers_token must be one of the headers");
  if (!is_known) auth.forwarded.push_back(auth.callers_header);
}

}  // namespace

void take_authorization(EngineBlock& block, HttpAccess& access) {
  const YamlNode* node = block.map.take("auth");
  if (node == nullptr) return;
  EngineBlock reading = block.inner(*node, "auth");
  if (!node->is_map()) return;
  reading.map.take_required("type");
  const std::string type = reading.text("type");
  if (type == "oauth2")
    take_oauth2(reading, access.auth);
  else if (type == "hmac")
    take_hmac(reading, access.auth);
  else if (type == "aws")
    take_aws(reading, access.auth);
  else if (type == "forward")
    take_forward(reading, access.auth);
  else
    reading.error("auth: type must be oauth2, hmac, aws or forward");
  take_callers_header(reading, access.auth);
  reading.map.finish();
}

}  // namespace metafuse::fetchers
