#include "fetchers/engines/http/access_tokens.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "core/digest.h"
#include "core/encoding.h"
#include "core/json_members.h"
#include "core/number.h"
#include "core/private_key.h"
#include "core/text.h"
#include "core/url.h"
#include "fetchers/http/answer_headers.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMaxTokenBytes = 16 * 1024;
constexpr double kAssumedLifetime = 300;  ///< in seconds, if an answer does not give it
constexpr double kRenewedAt = 0.8;        ///< as a fraction of the lifetime
constexpr auto kTokenTimeout = std::chrono::seconds(10);
constexpr std::int64_t kAssertionSeconds = 300;
constexpr std::size_t kMostCallers = 1000;
constexpr std::string_view kJwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer";
constexpr std::string_view kTokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange";
constexpr std::string_view kAccessTokenType = "urn:ietf:params:oauth:token-type:access_token";

/// base64 as tokens are written: with - and _ instead of + and /, and without padding (RFC 4648, 5).
std::string base64_url_encoded(std::string_view bytes) {
  std::string out = base64_encoded(bytes);
  out.erase(std::min(out.find('='), out.size()));
  std::replace(out.begin(), out.end(), '+', '-');
  std::replace(out.begin(), out.end(), '/', '_');
  return out;
}

std::string form_field(std::string_view name, std::string_view value) {
  return value.empty() ? "" : "&" + std::string(name) + "=" + percent_encoded(value, true);
}

std::string grant_of(std::string_view type) {
  return "grant_type=" + percent_encoded(type, true);
}

/// What is presented for a token, and the kind of grant.
std::string grant_fields(const Authorization& auth, const TokenGrant& grant) {
  if (!grant.callers_token.empty() && auth.is_on_behalf_of)
    return grant_of(kJwtBearer) + form_field("assertion", grant.callers_token) +
           form_field("requested_token_use", "on_behalf_of");
  if (!grant.callers_token.empty())
    return grant_of(kTokenExchange) + form_field("subject_token", grant.callers_token) +
           form_field("subject_token_type", kAccessTokenType);
  if (!auth.private_key.empty()) {
    const auto assertion = signed_assertion(auth, grant.unix_time);
    return grant_of(kJwtBearer) +
           form_field("assertion", assertion ? *assertion : "");  // the key was checked when it was read
  }
  if (!auth.username.empty())
    return grant_of("password") + form_field("username", auth.username) +
           form_field("password", auth.password);
  if (!grant.refresh_token.empty())
    return grant_of("refresh_token") + form_field("refresh_token", grant.refresh_token);
  return grant_of("client_credentials");
}

}  // namespace

Result<std::string> signed_assertion(const Authorization& auth, std::int64_t unix_time) {
  JsonObject header{{"alg", "RS256"}, {"typ", "JWT"}};
  if (!auth.key_id.empty()) header["kid"] = auth.key_id;
  JsonObject claims{{"iss", auth.client_id},
                    {"aud", auth.audience.empty() ? auth.token_url : auth.audience},
                    {"iat", unix_time},
                    {"exp", unix_time + kAssertionSeconds}};
  if (!auth.subject.empty()) claims["sub"] = auth.subject;
  if (!auth.scope.empty()) claims["scope"] = auth.scope;
  const std::string signed_text =
      base64_url_encoded(to_text(Json(header))) + '.' + base64_url_encoded(to_text(Json(claims)));
  TRY(const auto signature, rsa_sha256_signature(auth.private_key, signed_text));
  return signed_text + '.' + base64_url_encoded(signature);
}

Result<void> read_service_account(Authorization& auth, std::string_view text) {
  const auto json = parse_json(text, "auth: service_account");
  if (!json) return fail(Code::bad_config, json.error().text);
  const JsonMembers members(*json);
  const std::pair<std::string_view, std::string*> parts[] = {
      {"client_email", &auth.client_id}, {"private_key", &auth.private_key}, {"token_uri", &auth.token_url}};
  for (const auto& [name, part] : parts) {
    *part = members.text_or_empty(name);
    if (part->empty())
      return fail(Code::bad_config, "auth: service_account lacks \"" + std::string(name) +
                                        "\"; it must be the JSON key of a service account");
  }
  const auto server = parts_of_url(auth.token_url);
  if (!server || (server->scheme != "https" && server->host != "localhost" && server->host != "127.0.0.1"))
    return fail(Code::bad_config, "auth: token_uri of service_account must be https");
  auth.key_id = members.text_or_empty("private_key_id");
  return {};
}

EngineRequest build_token_request(const Authorization& auth, const std::string& engine,
                                  const TokenGrant& grant) {
  EngineRequest request;
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
  request.body = grant_fields(auth, grant) + form_field("scope", auth.scope);
  if (auth.private_key.empty()) request.body += form_field("audience", auth.audience);
  if (auth.is_basic) {
    request.username = auth.client_id;
    request.password = auth.client_secret;
  } else if (auth.private_key.empty()) {
    request.body += form_field("client_id", auth.client_id) + form_field("client_secret", auth.client_secret);
  }
  return request;
}

/// Hands an answer to the keeper. If the request is dropped instead, because its transport ends with the last
/// fetcher, the keeper is told so: those who wait would otherwise wait in vain, and for ever hold what they
/// belong to.
class TokenKeeper::Asked {
 public:
  Asked(std::shared_ptr<TokenKeeper> keeper, const Clock& clock)
      : keeper_(std::move(keeper)), clock_(clock) {}
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() {
    if (is_answered_) return;
    HttpAnswer answer;
    answer.failure = Failure::not_allowed;
    answer.message = "the configuration was replaced meanwhile";
    keeper_->take_answer(answer, clock_);
  }
  void take(const HttpAnswer& answer) {
    is_answered_ = true;
    keeper_->take_answer(answer, clock_);
  }

 private:
  std::shared_ptr<TokenKeeper> keeper_;
  const Clock& clock_;
  bool is_answered_ = false;
};

void TokenKeeper::get(const std::shared_ptr<TokenKeeper>& keeper, const Clock& clock, std::int64_t unix_time,
                      const Send& send, Take take) {
  const TimePoint now = clock.now();
  std::string token, why;
  TokenGrant grant{{}, keeper->callers_token_, unix_time};
  bool asks = false;
  {
    const std::lock_guard lock(keeper->mutex_);
    if (!keeper->token_.empty() && now < keeper->end_) token = keeper->token_;
    asks = !keeper->is_under_way_ && (token.empty() || now >= keeper->renew_at_) &&
           keeper->breaker_.ask(now) != Breaker::Verdict::stay;
    if (asks) keeper->is_under_way_ = true;
    if (token.empty() && keeper->is_under_way_)
      keeper->waiting_.push_back(std::move(take));
    else if (token.empty())
      why = keeper->why_;
    grant.refresh_token = keeper->refresh_token_;
  }
  if (asks)
    send(build_token_request(keeper->auth_, keeper->engine_, grant),
         [asked = std::make_shared<Asked>(keeper, clock)](const HttpAnswer& answer) { asked->take(answer); });
  if (!token.empty()) return take(token, "");
  if (!why.empty()) take(std::nullopt, why);
}

void TokenKeeper::take_answer(const HttpAnswer& answer, const Clock& clock) {
  std::string token, why, newer;
  double lifetime = kAssumedLifetime;
  if (answer.failure != Failure::none) {
    why = fmt::format("no token: {}: {}", name_of(answer.failure), answer.message);
  } else if (const auto json = parse_json(answer.body, "token"); json && answer.status / 100 == 2) {
    const JsonMembers members(*json);
    token = members.text_or_empty("access_token");
    newer = members.text_or_empty("refresh_token");
    if (const Json* seconds = members.number("expires_in"))
      lifetime = seconds->to_number<double>();
    else
      to_double(members.text_or_empty("expires_in"), lifetime);
  } else {
    // Show only the error code: a token server's message may repeat the secrets that were sent.
    why = fmt::format("no token: HTTP {} {}", answer.status,
                      json ? JsonMembers(*json).text_or_empty("error") : "");
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
    if (token.empty()) {
      why_ = why;
      if (answer.was_kept_back())
        breaker_.forget_probe();
      else
        breaker_.failed(clock.now(), true, retry_after(answer).value_or(Duration::zero()));
    } else {
      breaker_.succeeded();
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

std::shared_ptr<TokenKeeper> TokenKeepers::find(const std::string& callers_token) {
  const std::string key = sha256(callers_token);
  const std::lock_guard lock(mutex_);
  if (const auto* known = keepers_.use(key)) return *known;
  while (keepers_.size() >= kMostCallers) keepers_.remove_oldest();
  return keepers_.put(key, std::make_shared<TokenKeeper>(auth_, engine_, callers_token));
}

}  // namespace metafuse::fetchers
