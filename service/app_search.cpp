#include <array>
#include <chrono>
#include <utility>

#include "core/number.h"
#include "core/random.h"
#include "service/answers/reasons.h"
#include "service/app.h"
#include "service/errors.h"
#include "service/learning/feedback.h"
#include "service/learning/interleaved_answer.h"
#include "service/learning/interleaving.h"
#include "service/search/expansion.h"
#include "service/search/list_windows.h"
#include "service/search/search_pipeline.h"

// How the server answers a search: quota, what was rendered before, the caches, the engines, what the
// learning adds.

namespace metafuse::service {
namespace {

constexpr int kMostHops = 99;

/// Everything that changes an answer in this process.
std::string cache_key(const Snapshot& snapshot, const SearchRequest& request) {
  const LoadedDomain* domain = snapshot.find_domain(request.domain);
  if (domain == nullptr) return {};
  return std::to_string(snapshot.generation) + ' ' + shared_key(*domain, request);
}

/// How many meta-search servers a request came through, as the last one counted; too many for a damaged
/// count, so that no loop hides behind one.
int hops_of(const HttpRequest& request) {
  const std::string_view header = request.header("X-Metafuse-Hops");
  std::int64_t hops = 0;
  if (header.empty()) return 0;
  if (!to_integer(header, hops) || hops < 0 || hops > kMostHops) return kMostHops;
  return static_cast<int>(hops);
}

}  // namespace

std::optional<HttpResponse> App::over_quota(Dialect dialect, const Exchange& exchange,
                                            const SearchRequest& request) {
  if (exchange.key == nullptr || exchange.key->quota_per_day == 0) return std::nullopt;
  const auto queries = expand_request(*exchange.snapshot, request);
  if (!queries) return std::nullopt;  // the search itself says what is wrong
  return over_quota(dialect, exchange, queries->size());
}

std::optional<HttpResponse> App::over_quota(Dialect dialect, const Exchange& exchange,
                                            std::size_t expanded_queries) {
  if (exchange.key == nullptr) return std::nullopt;
  const QuotaAnswer quota = quotas_.charge(*exchange.key, expanded_queries, unix_time());
  if (quota.is_within) return std::nullopt;
  metrics_.refused("quota");
  HttpResponse response =
      error_response(dialect, 429, "the key's quota of expanded queries for today is used up");
  response.set("Retry-After", std::to_string(static_cast<long>(quota.retry_after_seconds)));
  return response;
}

bool App::answer_rendered(const Exchange& exchange, Responder& responder) {
  if (options_.config.cache.entries == 0) return false;
  const auto key = rendered_key(exchange);
  const auto kept = key ? rendered_.find(key->text) : nullptr;
  if (kept == nullptr) return false;
  if (exchange.key != nullptr) {
    const auto quota = quotas_.charge_at_once(*exchange.key, kept->expanded_queries, unix_time());
    if (!quota || !quota->is_within) return false;
  }
  std::string search_id;
  if (kept->search != nullptr) {
    // a store that cannot keep up leaves the id empty: nothing to click, but an answer
    search_id = new_search_id();
    if (!search_log_->add(kept->search, search_id, unix_time())) search_id.clear();
  }
  HttpResponse response;
  response.headers = kept->headers;
  response.frame = kept->frame;
  response.fillings = fillings_of(std::array{
      GapMark{Gap::search_id, {}, std::move(search_id)}, GapMark{Gap::request_id, {}, key->request_id},
      GapMark{Gap::seconds, {}, seconds_text(clock().now() - exchange.arrived)}});
  metrics_.cache("rendered");
  metrics_.search(kept->domain, kept->method);
  answer(exchange, std::move(response), responder);
  return true;
}

HttpResponse App::finish_search(const Exchange& exchange, FoundSearch found, HttpResponse rendered) {
  const ShownResults& shown = found.shown;
  const bool has_gaps = !found.marks.empty();
  if (!shown.search_id.empty()) found.marks.push_back({Gap::search_id, shown.search_id, shown.search_id});
  if (const std::string missing = failed_engines(*found.answer); !missing.empty())
    rendered.set("X-Unresponsive-Engines", missing);
  const auto until = may_be_sent_again(exchange, found);
  auto key = until ? rendered_key(exchange) : std::nullopt;
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

std::optional<TimePoint> App::may_be_sent_again(const Exchange& exchange, const FoundSearch& found) const {
  const LoadedDomain* domain = exchange.snapshot->find_domain(found.request.domain);
  if (options_.config.cache.entries == 0 || domain == nullptr ||
      is_interleaving(*exchange.snapshot, *domain) || exchange.snapshot->config.learning.has_online_reranker)
    return std::nullopt;
  // an answer that could not be stored has no search id: the next one may
  if (search_log_ != nullptr && !found.shown.positions.empty() && found.shown.search == nullptr)
    return std::nullopt;
  return cache_.popular_until(cache_key(*exchange.snapshot, found.request), *found.answer);
}

void App::remember(const Exchange& exchange, const SearchAnswer& answer, ShownResults& shown) {
  if (search_log_ == nullptr || shown.positions.empty()) return;
  auto search = std::make_shared<const StoredSearch>(stored_search(
      answer, shown.positions, secret_, exchange.snapshot->config.privacy.hash_queries, unix_time()));
  if (!search_log_->add(search, search->id, search->at)) return;
  shown.search_id = search->id;
  shown.search = std::move(search);
}

bool App::is_interleaving(const Snapshot& snapshot, const LoadedDomain& domain) const {
  return snapshot.config.learning.interleave_share > 0 && store_ != nullptr && domain.challenger.has_value();
}

Result<SearchAnswer> App::search_uncached(const Snapshot& snapshot, const SearchRequest& request,
                                          const PartialAnswer& on_partial) {
  const LoadedDomain* domain = snapshot.find_domain(request.domain);
  if (shared_answers_ == nullptr || domain == nullptr) return search_engines(snapshot, request, on_partial);
  const std::string key = shared_key(*domain, request);
  if (auto answer = shared_answers_->find(key, *domain, request)) {
    metrics_.cache("shared");
    return std::move(*answer);
  }
  auto made = search_engines(snapshot, request, on_partial);
  if (made) shared_answers_->keep(key, *made);
  return made;
}

Result<SearchAnswer> App::search_engines(const Snapshot& snapshot, const SearchRequest& request,
                                         const PartialAnswer& on_partial) {
  if (request.windows <= 1) return service::search(snapshot, request, clock(), on_partial);
  SearchRequest before = request;
  --before.windows;
  bool was_cached = false;
  const auto so_far = cache_.get(
      cache_key(snapshot, before), [&] { return search_uncached(snapshot, before, {}); }, was_cached);
  if (!so_far) return so_far.error();
  return search_further(snapshot, request, clock(), **so_far);
}

SharedAnswer App::reranked(const Snapshot& snapshot, const LoadedDomain& domain,
                           const SharedAnswer& answer) const {
  if (!snapshot.config.learning.has_online_reranker || online_rerankers_ == nullptr) return answer;
  const RerankerPointer reranker = online_rerankers_->find(domain);
  if (reranker == nullptr || answer->results.empty()) return answer;
  return std::make_shared<const SearchAnswer>(reranked_answer(domain, *answer, *reranker));
}

SharedAnswer App::interleaved(const Snapshot& snapshot, const SearchRequest& request,
                              const SharedAnswer& answer) const {
  const LoadedDomain* domain = snapshot.find_domain(request.domain);
  const double share = snapshot.config.learning.interleave_share;
  if (domain == nullptr || !is_interleaving(snapshot, *domain)) return answer;
  const std::uint64_t seed = interleaving_seed(shared_key(*domain, request), unix_time());
  Random random(seed);
  if (!is_interleaved(share, random)) return answer;
  return std::make_shared<const SearchAnswer>(interleaved_answer(*domain, *answer, random.next()));
}

Result<SharedAnswer> App::search(const Exchange& exchange, const SearchRequest& request,
                                 const SitePreferences& sites, const PartialAnswer& on_partial) {
  auto answer = search_window(exchange, request, on_partial);
  if (!answer) return answer;
  const LoadedDomain& domain = *exchange.snapshot->find_domain(request.domain);
  SearchRequest further = request;
  while (wants_next_window(domain, further, **answer, blocked_results(**answer, sites))) {
    ++further.windows;
    if (over_quota(Dialect::plain, exchange, further)) break;
    auto deeper = search_window(exchange, further, {});
    if (!deeper) break;
    answer = std::move(deeper);
  }
  return interleaved(*exchange.snapshot, request, reranked(*exchange.snapshot, domain, *answer));
}

Result<SharedAnswer> App::search_window(const Exchange& exchange, const SearchRequest& request,
                                        const PartialAnswer& on_partial) {
  bool was_cached = false;
  SearchRequest counted = request;
  counted.hops = hops_of(exchange.request);
  auto answer = cache_.get(
      cache_key(*exchange.snapshot, request),
      [&] { return search_uncached(*exchange.snapshot, counted, on_partial); }, was_cached);
  if (!answer) return answer;
  metrics_.cache(was_cached ? "hit" : "miss");
  metrics_.search((*answer)->domain, (*answer)->fusion.method);
  if (was_cached) return answer;
  suggester_.learn((*answer)->suggestions);
  metrics_.stage("fetch", (*answer)->fetch_seconds);
  metrics_.stage("fuse", (*answer)->fuse_seconds);
  note_lists((*answer)->lists);
  return answer;
}

void App::note_lists(const std::vector<fetchers::FetchedList>& lists) {
  for (const fetchers::FetchedList& list : lists) {
    const std::string& engine = list.query.engine;
    const std::string_view outcome = list.has_failed() ? fetchers::name_of(list.failure) : "ok";
    metrics_.engine(engine, outcome, std::chrono::duration<double>(list.elapsed).count());
    metrics_.breaker(engine, list.failure == fetchers::Failure::breaker_open);
    // the message may hold the query, so it stays out
    if (list.has_failed() && engine_failures_.is_due(engine + ' ' + std::string(outcome), clock().now()))
      log_.write(Log::Level::warning, "engine failed", {{"engine", engine}, {"failure", outcome}});
  }
}

}  // namespace metafuse::service
