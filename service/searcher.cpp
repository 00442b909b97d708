#include "service/searcher.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include "core/digest.h"
#include "core/number.h"
#include "core/random.h"
#include "service/base/addresses.h"
#include "service/base/dates.h"
#include "service/errors.h"
#include "service/learning/feedback.h"
#include "service/learning/interleaving.h"
#include "service/search/list_fusion.h"
#include "service/search/reasons.h"
#include "service/search/search_spans.h"
#include "service/store/redis_client.h"

namespace metafuse::service {
namespace {

constexpr int kMostHops = 99;
constexpr std::size_t kMostSuggestions = 8;

/// Whether a search may be stored: not with Do Not Track or Global Privacy Control.
bool may_be_stored(const HttpRequest& request) {
  return request.header("DNT") != "1" && request.header("Sec-GPC") != "1";
}

/// Whether a key is limited to some domains or engines. Then its rendered answers are not shared.
bool is_scoped(const KeyConfig* key) {
  return key != nullptr && (!key->domains.empty() || !key->engines.empty());
}

/// Keeps those of the request's engines that its key may ask; if the request names none, takes the key's.
///
/// out: whether a template of the domain asks one of the remaining engines
bool keep_engines_of(const KeyConfig& key, const LoadedDomain& domain, std::vector<std::string>& engines) {
  if (key.engines.empty()) return true;
  if (engines.empty()) engines = key.engines;
  std::erase_if(engines, [&](const std::string& engine) { return !key.may_ask_engine(engine); });
  const auto& templates = domain.domain.templates;
  return std::any_of(templates.begin(), templates.end(), [&](const templates::SearchTemplate& item) {
    return std::find_first_of(item.engines.begin(), item.engines.end(), engines.begin(), engines.end()) !=
           item.engines.end();
  });
}

AccessRefusal refusal_of(const Error& error) {
  return {status_of(error.code), {}, error.text};
}

/// How many meta-search servers a request has passed through, as counted by the last one. A malformed count
/// is taken as the maximum, so that it cannot hide a loop.
int hops_of(const HttpRequest& request) {
  const std::string_view header = request.header("X-Metafuse-Hops");
  std::int64_t hops = 0;
  if (header.empty()) return 0;
  if (!to_integer(header, hops) || hops < 0 || hops > kMostHops) return kMostHops;
  return static_cast<int>(hops);
}

/// Copies the client's headers that engines pass on into the request.
///
/// out: a part of every cache key, because answers for these headers belong to this client only; "" without
///      such headers
std::string take_forwarded(const Exchange& exchange, SearchRequest& request) {
  std::string identity;
  for (const std::string& name : exchange.snapshot->engines.forwarded) {
    const std::string value(exchange.request.header(name));
    if (value.empty()) continue;
    identity += name + ' ' + std::to_string(value.size()) + ' ' + value + '\n';
    request.forwarded.emplace_back(name, value);
  }
  return identity.empty() ? identity : ":identity:" + sha256_hex(identity);
}

/// Whether engines may answer each reader differently, so that rendered answers must not be shared.
bool has_identities(const Snapshot& snapshot) {
  return !snapshot.engines.forwarded.empty();
}

std::size_t cache_bytes(const ServerConfig& config) {
  return config.cache.megabytes << 20;
}

/// The part of the cache's bytes for rendered answers. Each is much smaller than the lists behind it.
std::size_t rendered_bytes(const ServerConfig& config) {
  return config.cache.entries == 0 ? 0 : cache_bytes(config) / 4;
}

/// The cache shared by several processes; nullptr if the configuration names none.
std::unique_ptr<SharedAnswers> shared_answers(const ServerConfig& config, const Clock& clock) {
  auto address = parse_redis_url(config.cache.redis);
  if (config.cache.redis.empty() || !address) return nullptr;
  return std::make_unique<SharedAnswers>(std::move(*address), duration_of(config.cache.seconds), clock);
}

/// Whose share of the store's bytes a request takes. Those with a key are known and have no share.
std::string storing_share(const Exchange& exchange) {
  return exchange.key != nullptr ? std::string() : exchange.sender();
}

}  // namespace

std::string Searcher::Plan::shared_key(int windows) const {
  return windows <= 1 ? digest : digest + ":windows:" + std::to_string(windows);
}

SearchRequest Searcher::Plan::at_window(int windows) const {
  SearchRequest out = prepared.request;
  out.windows = windows;
  return out;
}

std::string Searcher::Plan::cache_key(int windows) const {
  return std::to_string(exchange.snapshot->generation) + ' ' + shared_key(windows);
}

bool Searcher::Plan::has_raw() const {
  const auto& variants = prepared.request.variants;
  return std::any_of(variants.begin(), variants.end(),
                     [](const QueryVariant& variant) { return variant.is_raw; });
}

Searcher::Searcher(const ServerConfig& config, const SearcherParts& parts)
    : parts_(parts),
      has_cache_(config.cache.entries > 0),
      cache_(config.cache.entries, duration_of(config.cache.seconds), parts.clock,
             cache_bytes(config) - rendered_bytes(config)),
      rendered_(rendered_bytes(config), parts.clock),
      shared_answers_(shared_answers(config, parts.clock)) {}

HttpResponse Searcher::serve(const Exchange& exchange, Dialect dialect, const WantedSearch& wanted,
                             const std::function<HttpResponse(FoundSearch& found)>& render) {
  auto found = find(exchange, wanted);
  if (!found) return refusal_response(dialect, found.error());
  const TimePoint begin = parts_.clock.now();
  HttpResponse rendered = render(*found);
  HttpResponse response = finish(exchange, std::move(*found), std::move(rendered));
  parts_.telemetry.metrics.stage("render", std::chrono::duration<double>(parts_.clock.now() - begin).count());
  return response;
}

/// errors: 403 a domain or engines beyond the key's scope; those of expand_request()
OrRefusal<Searcher::Plan> Searcher::plan_of(const Exchange& exchange, const WantedSearch& wanted) const {
  SearchRequest request = wanted.search;
  const TimePoint began = parts_.clock.now();
  const Snapshot& snapshot = *exchange.snapshot;
  const auto domain = named_domain(snapshot, request.domain, exchange.key);
  if (!domain) {
    if (is_scoped(exchange.key) && snapshot.find_domain(request.domain) != nullptr)
      return AccessRefusal{403, "scope", "the key may not search this domain"};
    return refusal_of(domain.error());
  }
  if (exchange.key != nullptr && !keep_engines_of(*exchange.key, **domain, request.engines))
    return AccessRefusal{403, "scope", "the key may not ask these engines"};
  request.hops = hops_of(exchange.request);
  const std::string identity = take_forwarded(exchange, request);
  if (const auto decisions = decisions_of(snapshot, **domain); decisions != nullptr)
    request.alternatives = alternatives_of(decisions->synonyms, request.text);
  auto prepared = prepare_search(snapshot, **domain, std::move(request), parts_.clock);
  if (!prepared) return refusal_of(prepared.error());
  std::string digest = shared_key(**domain, prepared->request) + identity;
  return Plan{exchange, std::move(*prepared), std::move(digest), began, parts_.clock.now()};
}

OrRefusal<FoundSearch> Searcher::find(const Exchange& exchange, const WantedSearch& wanted,
                                      const SearchEvents& events) {
  TRY(const Plan plan, plan_of(exchange, wanted));
  if (auto refused = parts_.gate.admit_search(exchange, plan.prepared.queries.size(), plan.has_raw()))
    return std::move(*refused);
  if (events.on_admitted) events.on_admitted();
  auto answer = search(plan, wanted.sites, events.on_partial);
  if (!answer) return refusal_of(answer.error());
  const LoadedDomain& domain = plan.prepared.domain;
  if (!wanted.is_for_judge) answer = decided(plan.prepared.snapshot, domain, std::move(*answer));
  FoundSearch found{std::move(*answer),
                    &domain,
                    {},
                    plan.cache_key(1),
                    wanted.limit > 0 && parts_.records.search_log != nullptr};
  if (wanted.limit > 0) {
    found.shown = shown_results(*found.answer, wanted.first, wanted.limit, wanted.sites);
    remember(exchange, domain, *found.answer, found.shown);
  }
  return found;
}

HttpResponse Searcher::finish(const Exchange& exchange, FoundSearch found, HttpResponse rendered) {
  const ShownResults& shown = found.shown;
  const bool has_gaps = !found.marks.empty();
  if (!shown.search_id.empty()) found.marks.push_back({Gap::search_id, shown.search_id, shown.search_id});
  if (const std::string missing = failed_engines(*found.answer); !missing.empty())
    rendered.set("X-Unresponsive-Engines", missing);
  const auto until = may_be_sent_again(exchange, found);
  auto key = until ? key_of(exchange) : std::nullopt;
  if (!key && !has_gaps) return rendered;
  rendered.frame = std::make_shared<const BodyFrame>(frame_of(rendered.body, found.marks));
  rendered.fillings = fillings_of(found.marks);
  rendered.body.clear();
  if (key)
    rendered_.keep(std::move(key->text),
                   {rendered.headers, rendered.frame, shown.search, found.answer->lists.size(),
                    found.answer->domain, found.answer->fusion.method},
                   *until);
  return rendered;
}

std::optional<HttpResponse> Searcher::answer_again(const Exchange& exchange) {
  if (!has_cache_ || is_scoped(exchange.key) || has_identities(*exchange.snapshot)) return std::nullopt;
  const auto key = key_of(exchange);
  const auto kept = key ? rendered_.find(key->text) : nullptr;
  if (kept == nullptr || !parts_.gate.admit_at_once(exchange, kept->expanded_queries)) return std::nullopt;
  std::string search_id;
  // if the store cannot keep up, the id stays empty: the answer is sent, but cannot be clicked
  if (kept->search != nullptr && may_be_stored(exchange.request) &&
      parts_.records.search_log->add(kept->search, storing_share(exchange)))
    search_id = delivered_id(parts_.records.secret, kept->search->id, address_prefix(exchange.client));
  HttpResponse response;
  response.headers = kept->headers;
  response.frame = kept->frame;
  response.fillings = fillings_of(std::array{
      GapMark{Gap::search_id, {}, std::move(search_id)}, GapMark{Gap::request_id, {}, key->request_id},
      GapMark{Gap::seconds, {}, seconds_text(parts_.clock.now() - exchange.arrived)}});
  parts_.telemetry.metrics.cache("rendered");
  parts_.telemetry.metrics.search(kept->domain, kept->method);
  return response;
}

std::vector<std::string> Searcher::suggest(const Exchange& exchange, std::string_view domain_name,
                                           std::string_view prefix) const {
  std::vector<std::string> out;
  const auto add = [&](const std::vector<std::string>& texts) {
    for (const std::string& text : texts)
      if (out.size() < kMostSuggestions && std::find(out.begin(), out.end(), text) == out.end())
        out.push_back(text);
  };
  if (const LoadedDomain* domain = exchange.find_domain(domain_name); domain != nullptr) {
    add(suggester_.asked(domain->domain.name, prefix, kMostSuggestions / 2));
    for (const auto& vocabulary : domain->vocabularies)
      add(vocabulary->get().complete(prefix, kMostSuggestions));
  }
  const auto is_usable = [&](const std::string& domain) {
    return exchange.key == nullptr || exchange.key->may_use_domain(domain);
  };
  add(suggester_.complete(prefix, is_usable, kMostSuggestions));
  return out;
}

void Searcher::clear() {
  cache_.clear();
  rendered_.clear();
}

bool Searcher::is_interleaving(const Snapshot& snapshot, const LoadedDomain& domain) const {
  return snapshot.config.learning.interleave_share > 0 && parts_.records.store != nullptr &&
         domain.challenger.has_value();
}

std::optional<TimePoint> Searcher::may_be_sent_again(const Exchange& exchange,
                                                     const FoundSearch& found) const {
  const Snapshot& snapshot = *exchange.snapshot;
  if (!has_cache_ || is_scoped(exchange.key) || has_identities(snapshot) ||
      is_interleaving(snapshot, *found.domain) || snapshot.config.learning.has_online_reranker)
    return std::nullopt;
  // an answer without a search id, because it could not be stored, must not be sent again
  if (found.is_to_be_stored && found.shown.search == nullptr) return std::nullopt;
  return cache_.popular_until(found.key, *found.answer);
}

void Searcher::remember(const Exchange& exchange, const LoadedDomain& domain, const SearchAnswer& answer,
                        ShownResults& shown) {
  if (may_be_stored(exchange.request)) store_shown(exchange, domain, answer, 1, shown);
}

ShownResults Searcher::show_to_judge(const Exchange& exchange, const LoadedDomain& domain,
                                     const SearchAnswer& answer, std::vector<std::size_t> positions) {
  ShownResults shown;
  shown.total = positions.size();
  shown.positions = std::move(positions);
  store_shown(exchange, domain, answer, 0, shown);
  return shown;
}

void Searcher::store_shown(const Exchange& exchange, const LoadedDomain& domain, const SearchAnswer& answer,
                           std::uint64_t times, ShownResults& shown) {
  if (parts_.records.search_log == nullptr) return;
  if (shown.positions.empty() && !answer.results.empty()) return;  // a page beyond the last result
  const StoreIdentity identity = identity_of(*exchange.snapshot, domain);
  StoredSearch made = stored_search(answer, shown.positions, identity, parts_.records.unix_time());
  made.times = times;
  auto search = std::make_shared<const StoredSearch>(std::move(made));
  if (!parts_.records.search_log->add(search, storing_share(exchange))) return;
  shown.search_id = delivered_id(parts_.records.secret, search->id, address_prefix(exchange.client));
  shown.search = std::move(search);
}

Result<SharedAnswer> Searcher::search(const Plan& plan, const SitePreferences& sites,
                                      const PartialAnswer& on_partial) {
  TRY(auto answer, search_window(plan, 1, on_partial));
  const PreparedSearch& prepared = plan.prepared;
  for (int windows = 2;
       wants_next_window(prepared.domain, prepared.request, *answer, blocked_results(*answer, sites));
       ++windows) {
    if (parts_.clock.now() >= prepared.end) break;  // an engine without any time left would count as failed
    if (parts_.gate.admit_search(plan.exchange, prepared.queries.size(), plan.has_raw())) break;
    auto deeper = search_window(plan, windows, {});
    if (!deeper) break;
    answer = std::move(*deeper);
  }
  return learned_order(prepared.snapshot, prepared.domain, plan.digest, std::move(answer));
}

/// errors: those of another request's search for which this one waited
Result<SharedAnswer> Searcher::search_window(const Plan& plan, int windows, const PartialAnswer& on_partial) {
  bool was_cached = false;
  const TimePoint began = parts_.clock.now();
  TRY(auto answer, cache_.get(
                       plan.cache_key(windows), [&] { return search_uncached(plan, windows, on_partial); },
                       was_cached, plan.prepared.end));
  parts_.telemetry.metrics.cache(was_cached ? "hit" : "miss");
  parts_.telemetry.metrics.search(answer->domain, answer->fusion.method);
  trace_search(plan, *answer, was_cached, began);
  if (plan.prepared.request.forwarded.empty() && may_be_stored(plan.exchange.request))
    suggester_.learn(answer->domain, answer->suggestions, plan.exchange.sender());
  if (was_cached) return answer;
  parts_.telemetry.metrics.stage("fetch", answer->fetch_seconds);
  parts_.telemetry.metrics.stage("fuse", answer->fuse_seconds);
  note_lists(answer->lists);
  return answer;
}

Result<SearchAnswer> Searcher::search_uncached(const Plan& plan, int windows,
                                               const PartialAnswer& on_partial) {
  if (shared_answers_ == nullptr) return search_engines(plan, windows, on_partial);
  const std::string key = plan.shared_key(windows);
  if (auto answer = shared_answers_->find(key, plan.prepared.domain, plan.at_window(windows))) {
    parts_.telemetry.metrics.cache("shared");
    return std::move(*answer);
  }
  auto made = search_engines(plan, windows, on_partial);
  if (made) shared_answers_->keep(key, *made);
  return made;
}

Result<SearchAnswer> Searcher::search_engines(const Plan& plan, int windows,
                                              const PartialAnswer& on_partial) {
  if (windows <= 1) return search_prepared(plan.prepared, parts_.clock, on_partial);
  bool was_cached = false;
  TRY(const auto so_far,
      cache_.get(
          plan.cache_key(windows - 1), [&] { return search_uncached(plan, windows - 1, {}); }, was_cached,
          plan.prepared.end));
  return search_further(plan.prepared, parts_.clock, *so_far);
}

/// Applies what was learned to an answer: the online reranker's order, then interleaving with the challenger.
SharedAnswer Searcher::learned_order(const Snapshot& snapshot, const LoadedDomain& domain,
                                     std::string_view digest, SharedAnswer answer) const {
  const LearningConfig& learning = snapshot.config.learning;
  if (learning.has_online_reranker && parts_.records.online_rerankers != nullptr &&
      !answer->results.empty()) {
    if (const RerankerPointer reranker = parts_.records.online_rerankers->find(domain); reranker != nullptr)
      answer = std::make_shared<const SearchAnswer>(reranked_answer(domain, *answer, *reranker));
  }
  if (!is_interleaving(snapshot, domain)) return answer;
  Random random(interleaving_seed(digest, parts_.records.unix_time()));
  if (!is_interleaved(learning.interleave_share, random)) return answer;
  return std::make_shared<const SearchAnswer>(interleaved_answer(domain, *answer, random.next()));
}

std::shared_ptr<const DomainDecisions> Searcher::decisions_of(const Snapshot& snapshot,
                                                              const LoadedDomain& domain) const {
  if (parts_.records.decisions == nullptr) return nullptr;
  const ServerConfig& config = snapshot.config;
  return parts_.records.decisions->of(domain.domain.name, {config.learning.are_judged_first,
                                                           identity_of(snapshot, domain), &config.tracking});
}

SharedAnswer Searcher::decided(const Snapshot& snapshot, const LoadedDomain& domain,
                               SharedAnswer answer) const {
  const auto decisions = decisions_of(snapshot, domain);
  if (decisions == nullptr || decisions->queries.empty()) return answer;
  const StoreIdentity identity = identity_of(snapshot, domain);
  const auto at = decisions->queries.find(digest_of(*answer, identity));
  if (at == decisions->queries.end()) return answer;
  return std::make_shared<const SearchAnswer>(decided_answer(*answer, at->second, identity));
}

std::optional<RenderedKey> Searcher::key_of(const Exchange& exchange) const {
  auto key = rendered_key(exchange);
  if (key && parts_.records.decisions != nullptr)
    key->text += ' ' + std::to_string(parts_.records.decisions->changes());
  return key;
}

StoreIdentity Searcher::identity_of(const Snapshot& snapshot, const LoadedDomain& domain) const {
  return {parts_.records.secret, snapshot.config.privacy.hash_queries, plain_slot(domain.domain)};
}

SharedAnswer Searcher::show_fused(const Exchange& exchange, SharedAnswer answer, std::size_t limit,
                                  ShownResults& shown) {
  parts_.telemetry.metrics.search(answer->domain, answer->fusion.method);
  const Snapshot& snapshot = *exchange.snapshot;
  const LoadedDomain& domain = *snapshot.find_domain(answer->domain);
  answer = learned_order(snapshot, domain, sha256_hex(exchange.request.body), std::move(answer));
  shown = shown_results(*answer, 0, static_cast<int>(limit), {});
  remember(exchange, domain, *answer, shown);
  return answer;
}

void Searcher::trace_search(const Plan& plan, const SearchAnswer& answer, bool was_cached,
                            TimePoint began) const {
  const std::string& traceparent = plan.exchange.traceparent;
  if (parts_.telemetry.traces == nullptr || traceparent.empty() || !trace_context(traceparent).is_sampled)
    return;
  parts_.telemetry.traces->add(
      search_spans(traceparent, answer, was_cached, {plan.began, plan.expanded, began, parts_.clock.now()}));
}

void Searcher::note_lists(const std::vector<fetchers::FetchedList>& lists) {
  for (const fetchers::FetchedList& list : lists) {
    const std::string& engine = list.query.engine;
    const std::string_view outcome = list.has_failed() ? fetchers::name_of(list.failure) : "ok";
    parts_.telemetry.metrics.engine(engine, outcome, std::chrono::duration<double>(list.elapsed).count());
    parts_.telemetry.metrics.breaker(engine, list.failure == fetchers::Failure::breaker_open);
    // the message may contain the query, so it is not logged
    if (list.has_failed() && engine_failures_.is_due(engine + ' ' + std::string(outcome), parts_.clock.now()))
      parts_.telemetry.log.write(Log::Level::warning, "engine failed",
                                 {{"engine", engine}, {"failure", outcome}});
  }
}

}  // namespace metafuse::service
