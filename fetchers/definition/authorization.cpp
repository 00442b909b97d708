#include "fetchers/definition/authorization.h"

#include <algorithm>
#include <array>
#include <ctime>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "core/encoding.h"
#include "core/json.h"
#include "core/number.h"
#include "core/url_text.h"
#include "fetchers/http/transport.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxTokenBytes = 16 * 1024;
constexpr double kAssumedLifetime = 300;  ///< in seconds, if an answer does not give it
constexpr double kRenewedAt = 0.8;        ///< as a fraction of the lifetime
constexpr auto kTokenTimeout = std::chrono::seconds(10);

std::string as_hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes)
    out += fmt::format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return out;
}

std::string written(std::string_view bytes, bool is_base64) {
  return is_base64 ? base64_encoded(bytes) : as_hex(bytes);
}

const EVP_MD* method_named(std::string_view name) {
  if (name == "sha1") return EVP_sha1();
  if (name == "sha512") return EVP_sha512();
  return EVP_sha256();
}

std::string digest_of(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), bytes.data(), &size, EVP_sha256(), nullptr);
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

std::string hmac_of(std::string_view text, const Authorization& auth) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  HMAC(method_named(auth.algorithm), auth.secret.data(), static_cast<int>(auth.secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data(), &size);
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

std::string http_date(std::int64_t unix_time) {
  const auto moment = static_cast<std::time_t>(unix_time);
  std::tm parts{};
  gmtime_r(&moment, &parts);
  std::array<char, 40> out{};
  return {out.data(), std::strftime(out.data(), out.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

std::optional<std::string> value_named(std::string_view name, const HttpRequest& request,
                                       std::int64_t unix_time, bool is_base64, std::string_view signature) {
  const auto parts = parts_of_url(request.url);
  const std::string target = parts ? parts->path_and_query : std::string();
  const std::size_t mark = std::min(target.find('?'), target.size());
  if (name == "method") return request.method;
  if (name == "path") return target.substr(0, mark);
  if (name == "query") return target.substr(std::min(mark + 1, target.size()));
  if (name == "host") return parts ? parts->host : std::string();
  if (name == "timestamp") return std::to_string(unix_time);
  if (name == "date") return http_date(unix_time);
  if (name == "body") return request.body;
  if (name == "body_sha256") return written(digest_of(request.body), is_base64);
  if (name == "signature") return std::string(signature);
  return std::nullopt;
}

std::string form_field(std::string_view name, const std::string& value) {
  return value.empty() ? "" : "&" + std::string(name) + "=" + percent_encoded(value, true);
}

std::string text_member(const Json& json, std::string_view key) {
  const JsonObject* object = json.if_object();
  const Json* value = object == nullptr ? nullptr : object->if_contains(key);
  if (value == nullptr) return {};
  if (value->is_string()) return std::string(value->as_string());
  return value->is_number() ? to_text(*value) : std::string();
}

}  // namespace

Result<std::string> filled_signature_text(std::string_view text, const HttpRequest& request,
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

void sign_request(HttpRequest& request, const Authorization& auth, std::int64_t unix_time) {
  const auto filled = [&](const std::string& text, std::string_view signature) {
    auto out = filled_signature_text(text, request, unix_time, auth.is_base64, signature);
    return out ? std::move(*out) : std::string();  // checked when the definition was read
  };
  const std::string signature = written(hmac_of(filled(auth.message, ""), auth), auth.is_base64);
  std::vector<std::pair<std::string, std::string>> headers;
  for (const auto& [name, value] : auth.headers) headers.emplace_back(name, filled(value, signature));
  for (auto& header : headers) request.headers.push_back(std::move(header));
}

HttpRequest build_token_request(const Authorization& auth, const std::string& engine,
                                const std::string& refresh_token) {
  HttpRequest request;
  request.engine = engine + " (token)";
  request.method = "POST";
  request.url = auth.token_url;
  request.record_url = auth.token_url;
  request.is_confidential = true;
  if (const auto parts = parts_of_url(auth.token_url)) request.own_origin = parts->origin();
  request.timeout = kTokenTimeout;
  request.max_bytes = std::size_t{64} << 10;
  request.max_redirects = 0;
  request.headers = {{"Accept", "application/json"},
                     {"Content-Type", "application/x-www-form-urlencoded"},
                     {"User-Agent", "metafuse/0.1"}};
  request.body = refresh_token.empty()
                     ? "grant_type=client_credentials"
                     : "grant_type=refresh_token" + form_field("refresh_token", refresh_token);
  request.body += form_field("scope", auth.scope) + form_field("audience", auth.audience);
  if (auth.is_basic) {
    request.username = auth.client_id;
    request.password = auth.client_secret;
  } else {
    request.body += form_field("client_id", auth.client_id) + form_field("client_secret", auth.client_secret);
  }
  return request;
}

void TokenKeeper::get(const std::shared_ptr<TokenKeeper>& keeper, TimePoint now, const Clock& clock,
                      const Send& send, Take take) {
  std::string token;
  std::string refresh_token;
  bool asks = false;
  {
    const std::lock_guard lock(keeper->mutex_);
    if (!keeper->token_.empty() && now < keeper->end_) token = keeper->token_;
    if (token.empty()) keeper->waiting_.push_back(std::move(take));
    asks = !keeper->is_under_way_ && (token.empty() || now >= keeper->renew_at_);
    if (asks) keeper->is_under_way_ = true;
    refresh_token = keeper->refresh_token_;
  }
  if (asks)
    send(build_token_request(keeper->auth_, keeper->engine_, refresh_token),
         [keeper, &clock](const HttpAnswer& answer) { keeper->take_answer(answer, clock); });
  if (!token.empty()) take(token, "");
}

void TokenKeeper::take_answer(const HttpAnswer& answer, const Clock& clock) {
  std::string token, why, newer;
  double lifetime = kAssumedLifetime;
  if (answer.failure != Failure::none) {
    why = fmt::format("no token: {}: {}", name_of(answer.failure), answer.message);
  } else if (const auto json = parse_json(answer.body, "token"); json && answer.status / 100 == 2) {
    token = text_member(*json, "access_token");
    newer = text_member(*json, "refresh_token");
    const std::string seconds = text_member(*json, "expires_in");
    if (!seconds.empty()) to_double(seconds, lifetime);
  } else {
    // Show only the error code: a token server's message may repeat the secrets that were sent.
    why = fmt::format("no token: HTTP {} {}", answer.status, json ? text_member(*json, "error") : "");
  }
  const bool is_header =
      token.size() <= kMaxTokenBytes && std::all_of(token.begin(), token.end(), [](char c) {
        return static_cast<unsigned char>(c) > 0x20 && c != 0x7F;
      });
  if (!is_header) token.clear();
  if (token.empty() && why.empty()) why = "no token: the answer contains no access_token";
  std::vector<Take> waiting;
  {
    const std::lock_guard lock(mutex_);
    is_under_way_ = false;
    waiting.swap(waiting_);
    if (!token.empty()) {
      const auto span = [](double seconds) {
        return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
      };
      lifetime = std::clamp(lifetime, 1.0, 1e7);
      token_ = token;
      renew_at_ = clock.now() + span(lifetime * kRenewedAt);
      end_ = clock.now() + span(lifetime);
      if (!newer.empty()) refresh_token_ = newer;
    }
  }
  for (const Take& take : waiting) take(token.empty() ? std::nullopt : std::optional(token), why);
}

void TokenKeeper::forget(const std::string& token) {
  const std::lock_guard lock(mutex_);
  if (token_ == token) token_.clear();
}

}  // namespace metafuse::fetchers
