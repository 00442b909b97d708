#include "service/access/gate.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/encoding.h"
#include "core/json_members.h"
#include "core/text.h"
#include "service/base/addresses.h"
#include "service/http/exchange.h"
#include "service/http/head.h"
#include "service/http/message.h"
#include "service/store/redis_client.h"
#include "service/store/store.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kLinesType = "application/x-ndjson";
constexpr std::string_view kFormType = "application/x-www-form-urlencoded";

/// The media types of a kind of body, and what to send instead of another one.
struct BodyRow {
  BodyType body;
  std::array<std::string_view, 4> types;
  std::string_view wanted;
};
constexpr BodyRow kBodies[] = {
    {BodyType::json, {kJsonType}, kJsonType},
    {BodyType::optional_json, {kJsonType}, kJsonType},
    {BodyType::json_or_lines, {kJsonType, kLinesType}, "application/json or application/x-ndjson"},
    {BodyType::text_or_lines, {"text/plain", kLinesType}, "text/plain or application/x-ndjson"},
    {BodyType::form, {kFormType}, "the page's form"},
    {BodyType::json_or_form,
     {kJsonType, kFormType},
     "application/json (Tavily) or application/x-www-form-urlencoded (SearXNG)"},
    {BodyType::yaml,
     {"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"},
     "application/yaml"},
};

constexpr std::size_t kMostSearched = 8192;  // bytes of a body

constexpr std::array<double, 4> kTokens = {0, 0.1, 1, 5};  ///< by Cost

double tokens_of(Cost cost) {
  return kTokens.at(static_cast<std::size_t>(cost));
}

/// Requests per second that a client without a key may send. By default there is no limit if the server
/// listens on loopback, where all clients are on this machine.
double rate_of(const ServerConfig& config) {
  const double rate = config.limits.requests_per_second;
  if (rate != LimitsConfig::kByListen) return rate;
  return is_loopback(config.listen_host) ? 0 : LimitsConfig::kPublicRate;
}

bool is_own_host(const ServerConfig& config, std::string_view host_header) {
  const std::string host = host_without_port(host_header);
  if (host.empty() || host == "localhost" || host == config.listen_host) return true;
  if (host == "127.0.0.1" || host == "::1") return true;
  return std::any_of(config.server_names.begin(), config.server_names.end(), [&](const std::string& name) {
    return name == "*" || equal_ignoring_case(name, host) || equal_ignoring_case(name, host_header);
  });
}

/// Whether the client is on this machine, as far as can be told. A request forwarded by a proxy that is not
/// trusted to name its clients counts as not local.
bool is_local(const Exchange& exchange) {
  const bool was_forwarded =
      !exchange.request.header("X-Forwarded-For").empty() || !exchange.request.header("Forwarded").empty();
  return is_loopback(exchange.client) && (!was_forwarded || exchange.client != exchange.request.peer);
}

bool only_reads(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

/// Whether a page of this server or no page at all sent the request. A form or script of another site does
/// not qualify: the browser would send it with the credentials that it keeps for us. Clients other than
/// browsers say neither `Sec-Fetch-Site` nor `Origin` and pass.
bool is_from_own_page(const HttpRequest& request) {
  const std::string_view fetch_site = request.header("Sec-Fetch-Site");
  if (!fetch_site.empty()) return fetch_site == "same-origin" || fetch_site == "none";
  const std::string_view origin = request.header("Origin");
  const std::size_t scheme = origin.find("://");
  return origin.empty() ||
         (scheme != std::string_view::npos && origin.substr(scheme + 3) == request.header("Host"));
}

/// Whether the configuration allows scripts of the request's origin (CORS). Never for the routes of our own
/// pages, whose forms no other site may send.
bool is_from_allowed_origin(const RouteRules& rules, const Exchange& exchange) {
  const std::string_view origin = exchange.request.header("Origin");
  const std::vector<std::string>& allowed = exchange.snapshot->config.cors_origins;
  return rules.dialect != Dialect::page && !origin.empty() &&
         std::any_of(allowed.begin(), allowed.end(),
                     [&](const std::string& one) { return one == "*" || one == origin; });
}

/// A request that another site's page makes a browser send must not start or change anything. A link that a
/// person follows to a search is allowed.
std::optional<AccessRefusal> check_sender(const RouteRules& rules, const Exchange& exchange) {
  const HttpRequest& request = exchange.request;
  if (is_from_own_page(request) || is_from_allowed_origin(rules, exchange)) return std::nullopt;
  if (only_reads(request)) {
    const bool is_followed_link = request.header("Sec-Fetch-Mode") == "navigate";
    if (rules.effect == Effect::none || request.header("Sec-Fetch-Site").empty() || is_followed_link)
      return std::nullopt;
  }
  return AccessRefusal{
      403, "origin", "this request does not come from a page of this server; add its origin to cors_origins"};
}

/// Whether the request may come without a body, and does.
bool may_lack_body(BodyType body, const HttpRequest& request) {
  if (!request.body.empty()) return body == BodyType::none;
  // LangChain's SearXNG client sends an empty body and puts its parameters into the target
  return body == BodyType::none || body == BodyType::optional_json ||
         (body == BodyType::json_or_form && !request.query.empty());
}

std::optional<AccessRefusal> check_body(const RouteRules& rules, Exchange& exchange) {
  const HttpRequest& request = exchange.request;
  if (may_lack_body(rules.body, request)) return std::nullopt;
  const auto row = std::find_if(std::begin(kBodies), std::end(kBodies),
                                [&](const BodyRow& one) { return one.body == rules.body; });
  const std::string type = media_type(request.list("Content-Type"));
  if (type.empty() || std::find(row->types.begin(), row->types.end(), type) == row->types.end())
    return AccessRefusal{415, "content_type", "send " + std::string(row->wanted)};
  if (type != kFormType) return std::nullopt;
  auto form = parse_form(request.body);
  if (!form) return AccessRefusal{400, {}, "the form is malformed"};
  exchange.form = std::move(*form);
  return std::nullopt;
}

/// Whether this client needs no key.
bool is_open(Access access, const Exchange& exchange) {
  const ServerConfig& config = exchange.snapshot->config;
  if (access == Access::search) return !config.needs_key;
  if (access == Access::metrics)
    return config.metrics == MetricsAccess::open ||
           (config.metrics == MetricsAccess::loopback && is_local(exchange));
  return may_be_open(access);
}

Role role_of(Access access) {
  if (access == Access::admin) return Role::admin;
  if (access == Access::judge) return Role::judge;
  if (access == Access::write) return Role::write;
  return access == Access::metrics ? Role::metrics : Role::search;
}

std::optional<AccessRefusal> check_role(Access access, const Exchange& exchange) {
  if (is_open(access, exchange)) return std::nullopt;
  if (exchange.key == nullptr) {
    std::string text = "this needs an API key; send Authorization: Bearer KEY";
    if (access == Access::search) text += ", or give it to the browser as the password";
    return AccessRefusal{401, "no_key", std::move(text)};
  }
  if (!exchange.may(role_of(access)) && !exchange.may(Role::admin))
    return AccessRefusal{403, "role", "this needs a key with the role " + std::string(role_name(access))};
  return std::nullopt;
}

/// The credentials after the scheme's name in `Authorization`; nothing if the header has another scheme.
std::optional<std::string_view> credentials(const HttpRequest& request, std::string_view scheme) {
  const std::string_view value = request.header("Authorization");
  if (value.size() <= scheme.size() || value[scheme.size()] != ' ' ||
      !equal_ignoring_case(value.substr(0, scheme.size()), scheme))
    return std::nullopt;
  return value.substr(scheme.size() + 1);
}

/// Whether the body may hold a key: older clients of Tavily send theirs as a member of the body. This is
/// asked on a thread that reads sockets, so a long body is not searched.
bool may_hold_key(const RouteRules& rules, const HttpRequest& request) {
  const bool is_tavily = rules.body == BodyType::json_or_form || rules.dialect == Dialect::tavily;
  return is_tavily && media_type(request.header("Content-Type")) == kJsonType &&
         (request.body.size() > kMostSearched || request.body.find("\"api_key\"") != std::string::npos);
}

std::string key_in_body(const HttpRequest& request) {
  const auto body = json_body(request);
  return body ? JsonMembers(*body).text_or_empty("api_key") : std::string();
}

/// The API key that a program shows, or "": `Authorization: Bearer KEY` or `X-API-Key: KEY`.
std::string presented_key(const HttpRequest& request) {
  if (const auto token = credentials(request, "Bearer"); token && !token->empty()) return std::string(*token);
  return std::string(request.header("X-API-Key"));
}

/// The API key that a person gave to a browser as a password (`Authorization: Basic`, any user name), or "".
/// A browser adds it to every request that any site makes it send, so for requests that may change something
/// it counts only when one of our own pages sent them.
std::string typed_key(const HttpRequest& request) {
  if (!only_reads(request) && !is_from_own_page(request)) return {};
  const auto name_and_password = base64_decoded(credentials(request, "Basic").value_or(""));
  if (!name_and_password) return {};
  const std::size_t colon = name_and_password->find(':');
  return colon == std::string::npos ? std::string() : name_and_password->substr(colon + 1);
}

/// Whether a key matters: the route needs one, and the configuration has some.
bool looks_for_key(const RouteRules& rules, const Exchange& exchange) {
  return (rules.access != Access::open || !rules.actions.empty()) && !exchange.snapshot->config.keys.empty();
}

/// The key that the head of a request shows, or "".
std::string key_of(const RouteRules& rules, const Exchange& exchange) {
  const ServerConfig& config = exchange.snapshot->config;
  std::string key = presented_key(exchange.request);
  // where searching is open, a password is meant for the proxy in front; administrators' routes accept none
  if (key.empty() && config.needs_key && rules.access == Access::search) key = typed_key(exchange.request);
  return key;
}

/// Whether an unknown key counts as no key. That is so where searching is open: the request gets nothing that
/// it would not get without a key. Tavily's clients always send a key, a made-up one where none is needed.
bool takes_any_key(const RouteRules& rules, const Exchange& exchange) {
  return rules.access == Access::search && rules.effect == Effect::asks && is_open(rules.access, exchange);
}

std::unique_ptr<SharedLimits> shared_limits(const ServerConfig& config, const Clock& clock,
                                            RateLimiter& limiter) {
  auto address = parse_redis_url(config.cache.redis);
  if (config.cache.redis.empty() || !address) return nullptr;
  return std::make_unique<SharedLimits>(std::move(*address), clock, limiter);
}

/// Whether the request is for a domain outside the key's scope. On every route where keys count, the first
/// path value is a domain's name.
bool is_beyond_scope(const KeyConfig& key, const Exchange& exchange) {
  return !exchange.path_values.empty() && !key.may_use_domain(exchange.path_values.front());
}

std::optional<AccessRefusal> check_scope(Access access, const Exchange& exchange) {
  if (access == Access::open || exchange.key == nullptr || !is_beyond_scope(*exchange.key, exchange))
    return std::nullopt;
  return AccessRefusal{403, "scope", "the key may not use this domain"};
}

/// The counter of what keys used: a PostgreSQL store rather than Redis, because Redis counts from zero again
/// after a restart.
SharedUsage quota_counter(const GateOptions& options, SharedLimits* redis) {
  if (redis == nullptr || is_postgres_url(options.config.store)) return options.usage;
  return redis->usage();
}

}  // namespace

std::string_view role_name(Access access) {
  return std::ranges::find(kRoles, role_of(access), &std::pair<std::string_view, Role>::second)->first;
}

Gate::Gate(const GateOptions& options)
    : metrics_(options.metrics),
      clock_(options.clock),
      unix_time_(options.unix_time),
      limiter_(rate_of(options.config), options.config.limits.burst),
      key_guard_(options.config.limits.failed_keys_per_minute),
      shared_limits_(shared_limits(options.config, options.clock, limiter_)),
      quotas_(quota_counter(options, shared_limits_.get())) {}

std::optional<AccessRefusal> Gate::check(const RouteRules* rules, Exchange& exchange) {
  return noted(checked(rules, exchange), exchange);
}

std::optional<AccessRefusal> Gate::check_key_in_body(const RouteRules& rules, Exchange& exchange) {
  if (!exchange.awaits_key) return std::nullopt;
  exchange.awaits_key = false;
  return noted(checked_with(key_in_body(exchange.request), rules, exchange), exchange);
}

std::optional<AccessRefusal> Gate::noted(std::optional<AccessRefusal> refusal, Exchange& exchange) {
  if (!refusal) return std::nullopt;
  exchange.refused = refusal->reason;
  if (!refusal->reason.empty()) metrics_.refused(refusal->reason);
  return refusal;
}

std::optional<AccessRefusal> Gate::checked(const RouteRules* rules, Exchange& exchange) {
  const ServerConfig& config = exchange.snapshot->config;
  note_sender(exchange);
  if (!is_own_host(config, exchange.request.header("Host")))
    return AccessRefusal{421, "host", "this server does not answer for that Host; add it to server_names"};
  if (rules == nullptr) return std::nullopt;
  if (looks_for_key(*rules, exchange)) {
    const std::string presented = key_of(*rules, exchange);
    if (auto refusal = find_key(*rules, presented, exchange)) return refusal;
    exchange.awaits_key = presented.empty() && may_hold_key(*rules, exchange.request);
  }
  if (!exchange.awaits_key) {
    if (auto refusal = check_role(rules->access, exchange)) return refusal;
    if (auto refusal = check_scope(rules->access, exchange)) return refusal;
  }
  if (auto refusal = take_tokens(exchange, tokens_of(rules->cost))) return refusal;
  if (auto refusal = check_sender(*rules, exchange)) return refusal;
  if (auto refusal = check_body(*rules, exchange)) return refusal;
  check_action(*rules, exchange);
  return std::nullopt;
}

/// The checks that had to wait for the key. The request was charged to its address, which gets that back if
/// there is a key.
std::optional<AccessRefusal> Gate::checked_with(const std::string& presented, const RouteRules& rules,
                                                Exchange& exchange) {
  if (auto refusal = find_key(rules, presented, exchange)) return refusal;
  if (auto refusal = check_role(rules.access, exchange)) return refusal;
  if (auto refusal = check_scope(rules.access, exchange)) return refusal;
  if (exchange.key == nullptr) return std::nullopt;
  limiter_.give_back(address_prefix(exchange.client), clock_.now(), tokens_of(rules.cost));
  return take_tokens(exchange, tokens_of(rules.cost));
}

std::optional<AccessRefusal> Gate::find_key(const RouteRules& rules, const std::string& presented,
                                            Exchange& exchange) {
  if (presented.empty()) return std::nullopt;
  const auto& keys = exchange.snapshot->config.keys;
  const std::string prefix = address_prefix(exchange.client);
  KeyGuard::Answer found;
  if (takes_any_key(rules, exchange)) {
    found.key = key_guard_.find_if_any(keys, presented, prefix, exchange.arrived);
    if (found.key == nullptr) return std::nullopt;
  } else {
    found = key_guard_.find(keys, presented, prefix, exchange.arrived);
  }
  if (found.retry_after_seconds)
    return AccessRefusal{429, "key_rate", "too many wrong API keys from this address; wait",
                         found.retry_after_seconds};
  if (found.key == nullptr) return AccessRefusal{401, "bad_key", "this server does not know the API key"};
  if (found.key->has_expired(unix_time_()))
    return AccessRefusal{401, "bad_key", "the API key has expired; ask for a new one"};
  exchange.key = found.key;
  return std::nullopt;
}

std::optional<AccessRefusal> Gate::take_tokens(const Exchange& exchange, double tokens) {
  if (tokens <= 0) return std::nullopt;
  const Admission admission = exchange.key != nullptr
                                  ? take_of_key(*exchange.key, tokens)
                                  : limiter_.take(address_prefix(exchange.client), clock_.now(), tokens);
  if (admission.is_admitted) return std::nullopt;
  return AccessRefusal{429, "rate",
                       exchange.key != nullptr ? "too many requests with this key; slow down"
                                               : "too many requests from this address; slow down",
                       admission.retry_after_seconds};
}

/// Takes tokens from the key's own rate, which each process counts for itself.
Admission Gate::take_of_key(const KeyConfig& key, double tokens) {
  if (key.requests_per_second <= 0) return {};
  const std::lock_guard lock(key_limiters_mutex_);
  auto& limiter = key_limiters_[key.name];
  if (limiter == nullptr) limiter = std::make_unique<RateLimiter>(key.requests_per_second, key.burst, 1);
  if (limiter->per_second() != key.requests_per_second || limiter->burst() != key.burst)
    limiter->set_rate(key.requests_per_second, key.burst);
  return limiter->take(key.name, clock_.now(), tokens);
}

/// Checks the key that a form carries in its field `key`, which becomes the exchange's key. A client that
/// guesses keys is slowed down as it is with the header.
void Gate::check_action(const RouteRules& rules, Exchange& exchange) {
  if (rules.actions.empty()) return;
  const std::string action = form_value(exchange.form, "action");
  const auto at = std::find_if(rules.actions.begin(), rules.actions.end(),
                               [&](const FormAction& one) { return action.starts_with(one.prefix); });
  if (at == rules.actions.end()) return;
  AccessRefusal refusal{403, "role",
                        "the key is unknown or lacks the role " + std::string(role_name(at->access))};
  if (const std::string typed = form_value(exchange.form, "key"); !typed.empty()) {
    const auto [key, retry_after] = key_guard_.find(exchange.snapshot->config.keys, typed,
                                                    address_prefix(exchange.client), exchange.arrived);
    exchange.key = key == nullptr || key->has_expired(unix_time_()) ? nullptr : key;
    if (exchange.key == nullptr) refusal.reason = "bad_key";
    if (retry_after)
      refusal = {429, "key_rate", "too many wrong keys from this address; wait a moment", retry_after};
  }
  if (exchange.key != nullptr && is_beyond_scope(*exchange.key, exchange)) exchange.key = nullptr;
  if (!check_role(at->access, exchange)) return;
  metrics_.refused(refusal.reason);
  exchange.refused_action = std::move(refusal);
}

std::optional<AccessRefusal> Gate::admit_search(const Exchange& exchange, std::size_t expanded_queries,
                                                bool has_raw) {
  if (has_raw && !exchange.may(Role::raw))
    return AccessRefusal{403, "role", "raw variants need a key with the role raw"};
  if (exchange.key == nullptr) return std::nullopt;
  const QuotaAnswer quota = quotas_.charge(*exchange.key, expanded_queries, unix_time_());
  if (quota.is_within) return std::nullopt;
  metrics_.refused("quota");
  return AccessRefusal{429, "quota", "the key's quota of expanded queries for today is used up",
                       quota.retry_after_seconds};
}

std::optional<AccessRefusal> Gate::admit_more(const Exchange& exchange, double tokens) {
  auto refusal = take_tokens(exchange, tokens);
  if (refusal) metrics_.refused(refusal->reason);
  return refusal;
}

bool Gate::admit_at_once(const Exchange& exchange, std::size_t expanded_queries) {
  if (exchange.key == nullptr) return true;
  const auto quota = quotas_.charge_at_once(*exchange.key, expanded_queries, unix_time_());
  return quota && quota->is_within;
}

void Gate::set_limits(const ServerConfig& config) {
  limiter_.set_rate(rate_of(config), config.limits.burst);
  key_guard_.set_rate(config.limits.failed_keys_per_minute);
}

}  // namespace metafuse::service
