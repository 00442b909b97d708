#include "fetchers/engines/http/ready_access.h"

#include <algorithm>
#include <array>
#include <functional>

#include "core/encoding.h"
#include "core/url.h"
#include "fetchers/engines/http/access_tokens.h"
#include "fetchers/http/request_template.h"

namespace metafuse::fetchers {
namespace {

constexpr std::string_view kRedacted = "REDACTED";

/// Replaces every "${NAME}" by the secret, as `write` writes it. False when a secret is not set; `missing`
/// then holds its name.
bool fill_secrets(std::string& text, const SecretLookup& secret_of, std::string& missing,
                  const WriteSecret& write = {}) {
  for (std::size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string::npos) return true;
    const std::string name = text.substr(at + 2, end - at - 2);
    const auto value = secret_of ? secret_of(name) : std::optional<std::string>(kRedacted);
    if (!value) {
      missing = name;
      return false;
    }
    const std::string_view whole = text;
    const std::string written = write ? write(whole.substr(0, at), whole.substr(end + 1), *value) : *value;
    text.replace(at, end + 1 - at, written);
    at += written.size();
  }
  return true;
}

bool fill_all(HttpAccess& access, const SecretLookup& secret_of, std::string& missing) {
  const auto fill = [&](std::string& text) { return fill_secrets(text, secret_of, missing); };
  const auto fill_url = [&](std::string& text) {
    return fill_secrets(text, secret_of, missing,
                        [](auto, auto, const std::string& secret) { return percent_encoded(secret); });
  };
  const auto fill_body = [&](std::string& text) {
    return fill_secrets(text, secret_of, missing,
                        [](auto, auto, const std::string& secret) { return with_doubled_braces(secret); });
  };
  bool is_filled = fill_url(access.url) && fill_url(access.description_url) && fill_body(access.body) &&
                   fill_url(access.paging.next.url) && fill_body(access.paging.next.body) &&
                   fill_url(access.auth.token_url);
  Authorization& auth = access.auth;
  for (std::string* text : {&access.username, &access.password, &access.proxy, &auth.client_id,
                            &auth.client_secret, &auth.refresh_token, &auth.scope, &auth.audience,
                            &auth.secret, &auth.message, &auth.session_token, &auth.username, &auth.password,
                            &auth.private_key, &auth.key_id, &auth.subject, &auth.service_account})
    is_filled = is_filled && fill(*text);
  for (auto& [name, value] : auth.headers) is_filled = is_filled && fill(value);
  for (LookupStep& step : access.steps) is_filled = is_filled && fill_url(step.url) && fill_body(step.body);
  for (StringPairs* fields : {&access.headers, &access.cookies})
    for (auto& [name, value] : *fields) is_filled = is_filled && fill(value);
  return is_filled;
}

Error secret_is_missing(const Engine& engine, const std::string& name) {
  return fail(Code::bad_config, "the engine \"" + engine.name + "\" needs the secret " + name +
                                    "; set the environment variable or put a file with that name into the "
                                    "credentials folder");
}

/// Looks secrets up and hides them from then on.
SecretLookup hiding(const SecretLookup& secret_of, HiddenTexts& hidden) {
  if (!secret_of) return {};
  return [&](std::string_view name) {
    auto value = secret_of(name);
    if (value) add_secret(hidden, *value);
    return value;
  };
}

/// Reads what secrets or files hold of a private key, so that a mistake is found before the first search.
Result<void> read_keys(Authorization& auth) {
  if (!auth.service_account.empty()) {
    TRY_VOID(read_service_account(auth, auth.service_account));
  }
  if (auth.private_key.empty()) return {};
  if (const auto assertion = signed_assertion(auth, 0); !assertion)
    return fail(assertion.error().code, "auth: private_key is " + assertion.error().text);
  return {};
}

}  // namespace

Result<std::string> with_secrets(std::string text, const Engine& engine, const SecretLookup& secret_of,
                                 HiddenTexts& hidden, const WriteSecret& write) {
  std::string missing;
  if (!fill_secrets(text, hiding(secret_of, hidden), missing, write))
    return secret_is_missing(engine, missing);
  return text;
}

Result<ReadyAccess> ready_access(const Engine& engine, const SecretLookup& secret_of) {
  const auto& access = std::get<HttpAccess>(engine.access);
  ReadyAccess ready{access, access, {}, {}};
  std::string missing;
  fill_all(ready.redacted, nullptr, missing);
  if (!fill_all(ready.access, hiding(secret_of, ready.access.secrets), missing))
    return secret_is_missing(engine, missing);
  if (secret_of)
    if (const auto read = read_keys(ready.access.auth); !read)
      return fail(read.error().code, "the engine \"" + engine.name + "\": " + read.error().text);
  const std::string& literal = access.description_url.empty() ? access.url : access.description_url;
  const std::size_t host_end = literal.find_first_of("/?", std::min(literal.find("://") + 3, literal.size()));
  const std::string host = literal.substr(0, host_end);
  if (host.find('{') == std::string::npos)
    if (const auto parts = parts_of_url(host + "/")) ready.own_origin = parts->origin();
  return ready;
}

Engine engine_at(const Engine& engine, std::size_t number) {
  Engine out = engine;
  auto& access = std::get<HttpAccess>(out.access);
  const std::string instance = access.instances[number];
  out.name += " (" + std::to_string(number + 2) + ")";
  access.instances.clear();
  const auto move_there = [&](std::string& url) {
    if (const std::size_t host = url.find("://"); host != std::string::npos)
      url.replace(0, url.find_first_of("/?", host + 3), instance);
  };
  move_there(access.url);
  move_there(access.description_url);
  move_there(access.paging.next.url);
  for (LookupStep& step : access.steps) move_there(step.url);
  return out;
}

std::string without_secret_parameters(std::string url) {
  constexpr std::array<std::string_view, 7> kNames = {
      "key=", "api_key=", "apikey=", "token=", "access_token=", "password=", "secret="};
  for (std::size_t at = url.find('?'); at != std::string::npos; at = url.find('&', at + 1)) {
    const auto name = std::find_if(kNames.begin(), kNames.end(), [&](std::string_view one) {
      return url.compare(at + 1, one.size(), one) == 0;
    });
    if (name == kNames.end()) continue;
    const std::size_t begin = at + 1 + name->size();
    const std::size_t end = std::min(url.find_first_of("&#", begin), url.size());
    url.replace(begin, end - begin, kRedacted);
  }
  return url;
}

}  // namespace metafuse::fetchers
