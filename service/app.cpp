#include "service/app.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <thread>
#include <utility>

#include "core/contract.h"
#include "core/number.h"
#include "core/random.h"
#include "service/access.h"
#include "service/client_address.h"
#include "service/errors.h"
#include "service/feedback.h"
#include "service/interleaved_answer.h"
#include "service/interleaving.h"
#include "service/list_windows.h"

namespace metafuse::service {
namespace {

constexpr unsigned kWorkersPerCore = 32;
constexpr unsigned kRunningPerCore = 3;  ///< while the cores are busy

unsigned core_count() {
  return std::max(1U, std::thread::hardware_concurrency());
}

unsigned worker_count(const ServerConfig& config) {
  return config.workers > 0 ? config.workers : kWorkersPerCore * core_count();
}

constexpr int kMostHops = 99;

double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// Keys' use counted in the store, so that it outlives the process and is shared between several.
SharedUsage shared_usage(Store* store) {
  if (store == nullptr) return {};
  return
      [store](std::string_view key, std::int64_t day, std::uint64_t amount) -> std::optional<std::uint64_t> {
        const auto sum = store->add_usage(key, day, amount);
        if (!sum) return std::nullopt;
        return *sum;
      };
}

UnixTime machine_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Everything that changes an answer in this process.
std::string cache_key(const Snapshot& snapshot, const SearchRequest& request) {
  const LoadedDomain* domain = snapshot.find_domain(request.domain);
  if (domain == nullptr) return {};
  return std::to_string(snapshot.generation) + ' ' + shared_key(*domain, request);
}

Duration duration_of(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

std::size_t cache_bytes(const ServerConfig& config) {
  return config.cache.megabytes << 20;
}

/// The part of the cache's bytes that rendered answers take: each is a small part of the lists behind it.
std::size_t rendered_bytes(const ServerConfig& config) {
  return config.cache.entries == 0 ? 0 : cache_bytes(config) / 4;
}

/// The cache that processes share, when the configuration names one.
std::unique_ptr<SharedAnswers> shared_answers(const AppOptions& options) {
  const CacheConfig& cache = options.config.cache;
  auto address = parse_redis_url(cache.redis);
  if (cache.redis.empty() || !address) return nullptr;
  return std::make_unique<SharedAnswers>(std::move(*address), duration_of(cache.seconds), *options.clock);
}

std::unique_ptr<SharedLimits> shared_limits(const AppOptions& options, RateLimiter& limiter) {
  auto address = parse_redis_url(options.config.cache.redis);
  if (options.config.cache.redis.empty() || !address) return nullptr;
  return std::make_unique<SharedLimits>(std::move(*address), *options.clock, limiter);
}

QueueLimits queue_limits(const LimitsConfig& limits) {
  return {limits.max_queue, duration_of(limits.queue_seconds), kRunningPerCore * core_count()};
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

App::App(AppOptions options, std::shared_ptr<const Snapshot> snapshot, std::unique_ptr<Store> store,
         std::string secret)
    : options_(std::move(options)),
      snapshot_(std::move(snapshot)),
      cache_(options_.config.cache.entries, duration_of(options_.config.cache.seconds), *options_.clock,
             cache_bytes(options_.config) - rendered_bytes(options_.config)),
      rendered_(rendered_bytes(options_.config), *options_.clock),
      shared_answers_(shared_answers(options_)),
      limiter_(options_.config.limits.requests_per_second, options_.config.limits.burst),
      shared_limits_(shared_limits(options_, limiter_)),
      store_(std::move(store)),
      secret_(std::move(secret)),
      search_log_(store_ ? std::make_unique<SearchLog>(*store_) : nullptr),
      model_versions_(
          options_.config.models.empty() ? nullptr : std::make_unique<ModelVersions>(options_.config.models)),
      online_rerankers_(model_versions_ == nullptr || store_ == nullptr
                            ? nullptr
                            : std::make_unique<OnlineRerankers>(options_.config.models)),
      quotas_(shared_limits_ ? shared_limits_->usage() : shared_usage(store_.get())),
      pool_(worker_count(options_.config), queue_limits(options_.config.limits)) {
  note_models(*snapshot_);
  reloader_ = std::thread([this] { reload_when_wanted(); });
  if (store_ == nullptr) return;
  CaretakerOptions care;
  care.store = store_.get();
  care.versions = model_versions_.get();
  care.snapshot = [this] { return this->snapshot(); };
  care.unix_time = options_.unix_time;
  care.on_models_changed = [this] { reload_soon(); };
  care.on_event = [this](std::string_view event, JsonObject fields) {
    log_.write(Log::Level::info, event, std::move(fields));
  };
  caretaker_ = std::make_unique<Caretaker>(std::move(care));
  caretaker_->start();
}

App::~App() {
  stop();
}

Result<std::unique_ptr<App>> App::create(AppOptions options) {
  require(options.clock != nullptr, "an App needs a clock");
  auto snapshot = load_snapshot(options.config, options.load_engines);
  if (!snapshot) return snapshot.error();
  if (!options.unix_time) options.unix_time = machine_time;
  std::unique_ptr<Store> store;
  std::string secret;
  if (!options.config.store.empty()) {
    auto opened = open_store(options.config.store);
    if (!opened) return opened.error();
    store = std::move(*opened);
    auto stored = store->secret();
    if (!stored) return stored.error();
    secret = std::move(*stored);
  }
  return std::unique_ptr<App>(
      new App(std::move(options), std::move(*snapshot), std::move(store), std::move(secret)));
}

std::shared_ptr<const Snapshot> App::snapshot() const {
  const std::lock_guard lock(snapshot_mutex_);
  return snapshot_;
}

void App::note_models(const Snapshot& snapshot) {
  for (const auto& [name, domain] : snapshot.domains)
    metrics_.model(name, domain.model ? domain.model_digest.substr(0, 12) : "rrf");
}

Result<void> App::reload() {
  const std::lock_guard lock(reload_mutex_);
  const auto load = [&]() -> Result<std::shared_ptr<const Snapshot>> {
    auto config = options_.reread ? options_.reread() : Result<ServerConfig>(options_.config);
    if (!config) return config.error();
    return load_snapshot(*config, options_.load_engines);
  };
  auto loaded = load();
  metrics_.reload(loaded.has_value());
  if (!loaded) {
    log_.write(Log::Level::error, "reload refused", {{"reason", loaded.error().text}});
    return loaded.error();
  }
  note_models(**loaded);
  apply_limits((*loaded)->config.limits);
  note_what_needs_a_restart((*loaded)->config);
  {
    const std::lock_guard swap_lock(snapshot_mutex_);
    snapshot_ = std::move(*loaded);
  }
  cache_.clear();
  rendered_.clear();
  log_.write(Log::Level::info, "reloaded");
  return {};
}

void App::attach(Sockets sockets) {
  const std::lock_guard lock(sockets_mutex_);
  sockets_ = std::move(sockets);
}

std::optional<ConnectionCounts> App::connections() const {
  const std::lock_guard lock(sockets_mutex_);
  if (!sockets_.counts) return std::nullopt;
  return sockets_.counts();
}

void App::apply_limits(const LimitsConfig& limits) {
  limiter_.set_rate(limits.requests_per_second, limits.burst);
  pool_.set_limits(queue_limits(limits));
  const std::lock_guard lock(sockets_mutex_);
  if (sockets_.set_limits) sockets_.set_limits(limits);
}

/// Says so whenever the file differs from what the process runs with, so that nobody waits for a change.
void App::note_what_needs_a_restart(const ServerConfig& next) {
  const ServerConfig& now = options_.config;
  const auto note = [&](std::string_view key, bool is_same) {
    if (!is_same) log_.write(Log::Level::warning, "needs a restart", {{"key", key}});
  };
  note("listen", now.listen_host == next.listen_host && now.port == next.port);
  note("store", now.store == next.store);
  note("models", now.models == next.models);
  note("workers", now.workers == next.workers);
  note("cache", now.cache == next.cache);
}

void App::reload_soon() {
  {
    const std::lock_guard lock(reloader_mutex_);
    is_reload_wanted_ = true;
  }
  reloader_wakes_.notify_all();
}

void App::reload_when_wanted() {
  std::unique_lock lock(reloader_mutex_);
  while (true) {
    reloader_wakes_.wait(lock, [this] { return is_reload_wanted_ || is_stopping_; });
    if (is_stopping_) return;
    is_reload_wanted_ = false;
    lock.unlock();
    const auto done = reload();
    metrics_.set("metafuse_reload_failed", done ? 0 : 1);  // the log says why
    lock.lock();
  }
}

void App::stop() {
  if (caretaker_ != nullptr) caretaker_->stop();
  {
    const std::lock_guard lock(reloader_mutex_);
    is_stopping_ = true;
  }
  reloader_wakes_.notify_all();
  if (reloader_.joinable()) reloader_.join();
  pool_.stop();
}

void App::handle(HttpRequest request, std::shared_ptr<Responder> responder) {
  auto exchange = std::make_shared<Exchange>();
  exchange->request = std::move(request);
  exchange->snapshot = snapshot();
  exchange->arrived = clock().now();
  Match match = match_route(exchange->request.method, exchange->request.path);
  exchange->path_values = std::move(match.values);
  exchange->route = match.route != nullptr ? match.route->name : "none";
  const Dialect spoken = dialect_of(exchange->request);  // POST /search has two
  const Dialect dialect = match.route != nullptr && spoken != Dialect::tavily ? match.route->dialect : spoken;
  if (auto refusal = check_access(match.route, *exchange)) {
    metrics_.refused(refusal->reason);
    return answer(*exchange, error_response(dialect, refusal->status, refusal->text), *responder);
  }
  const auto wait = match.route != nullptr ? seconds_too_fast(*match.route, *exchange) : std::nullopt;
  if (wait) {
    metrics_.refused("rate");
    HttpResponse response = error_response(dialect, 429, "too many requests from this address; slow down");
    response.set("Retry-After", std::to_string(static_cast<long>(std::ceil(std::max(1.0, *wait)))));
    return answer(*exchange, std::move(response), *responder);
  }
  if (match.route != nullptr) {
    if (answer_rendered(*exchange, dialect, *responder)) return;
    return dispatch(*match.route, std::move(exchange), std::move(responder));
  }
  const bool is_known = !match.allowed.empty();
  if (is_known)
    if (auto preflight = preflight_answer(*exchange))
      return answer(*exchange, std::move(*preflight), *responder);
  HttpResponse response = error_response(dialect, is_known ? 405 : 404,
                                         is_known ? "no such method on this path" : "no such path");
  if (is_known) response.set("Allow", match.allowed);
  answer(*exchange, std::move(response), *responder);
}

void App::dispatch(const Route& route, std::shared_ptr<Exchange> exchange,
                   std::shared_ptr<Responder> responder) {
  if (route.where == Where::inline_thread) return run(route, *exchange, *responder);
  const auto give_up = [this, &route, exchange, responder] {
    metrics_.refused("overload");
    answer(*exchange,
           error_response(route.dialect, 503, "too much work waits already; try again in a second"),
           *responder);
  };
  const auto work = [this, &route, exchange, responder] { run(route, *exchange, *responder); };
  if (!pool_.try_run(work, give_up)) give_up();
}

void App::run(const Route& route, const Exchange& exchange, Responder& responder) {
  std::string failure;
  try {
    if (route.stream != nullptr) return route.stream(*this, exchange, responder);
    return answer(exchange, route.handle(*this, exchange), responder);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  log_.write(Log::Level::error, "a mistake of ours", {{"route", route.name}, {"what", failure}});
  answer(exchange, error_response(route.dialect, 500, "a mistake of ours; it is in the log"), responder);
}

void App::answer(const Exchange& exchange, HttpResponse response, Responder& responder) {
  add_common_headers(exchange, response);
  count(exchange, response.status, response.body_bytes());
  responder.send(std::move(response));
}

void App::count(const Exchange& exchange, int status, std::size_t bytes) {
  const double seconds = seconds_of(clock().now() - exchange.arrived);
  metrics_.request(exchange.route, status, seconds);
  if (exchange.route == "healthz" || exchange.route == "readyz" || exchange.route == "metrics") return;
  log_.request({exchange.route, exchange.request.method, status, seconds, bytes, exchange.traceparent});
}

std::optional<double> App::seconds_too_fast(const Route& route, const Exchange& exchange) {
  if (route.access == Access::open || exchange.key != nullptr) return std::nullopt;
  const Admission admission = limiter_.take(address_prefix(exchange.client), clock().now());
  if (admission.is_admitted) return std::nullopt;
  return admission.retry_after_seconds;
}

std::optional<HttpResponse> App::over_quota(Dialect dialect, const Exchange& exchange,
                                            const SearchRequest& request) {
  if (exchange.key == nullptr || exchange.key->quota_per_day == 0) return std::nullopt;
  const auto queries = expand_request(*exchange.snapshot, request);
  if (!queries) return std::nullopt;  // the search itself says what is wrong
  const QuotaAnswer quota = quotas_.charge(*exchange.key, queries->size(), unix_time());
  if (quota.is_within) return std::nullopt;
  return quota_refusal(dialect, quota);
}

HttpResponse App::quota_refusal(Dialect dialect, const QuotaAnswer& quota) {
  metrics_.refused("quota");
  HttpResponse response =
      error_response(dialect, 429, "the key's quota of expanded queries for today is used up");
  response.set("Retry-After", std::to_string(static_cast<long>(quota.retry_after_seconds)));
  return response;
}

bool App::answer_rendered(const Exchange& exchange, Dialect dialect, Responder& responder) {
  if (options_.config.cache.entries == 0) return false;
  const auto key = rendered_key(exchange);
  const auto kept = key ? rendered_.find(*key) : nullptr;
  if (kept == nullptr) return false;
  if (exchange.key != nullptr) {
    const auto quota = quotas_.charge_at_once(*exchange.key, kept->expanded_queries, unix_time());
    if (!quota) return false;
    if (!quota->is_within) {
      answer(exchange, quota_refusal(dialect, *quota), responder);
      return true;
    }
  }
  HttpResponse response;
  response.headers = kept->headers;
  response.frame = kept->frame;
  if (kept->search != nullptr) {
    // a store that cannot keep up leaves the id empty: nothing to click, but an answer
    if (std::string id = new_search_id(); search_log_->add(kept->search, id, unix_time()))
      response.body = std::move(id);
  }
  metrics_.cache("rendered");
  metrics_.search(kept->domain, kept->method);
  answer(exchange, std::move(response), responder);
  return true;
}

void App::keep_rendered(const Exchange& exchange, const SearchRequest& request, const SearchAnswer& answer,
                        const ShownResults& shown, const HttpResponse& response) {
  const LoadedDomain* domain = exchange.snapshot->find_domain(request.domain);
  if (options_.config.cache.entries == 0 || domain == nullptr ||
      is_interleaving(*exchange.snapshot, *domain) || exchange.snapshot->config.learning.has_online_reranker)
    return;
  // an answer that could not be stored has no search id: the next one may
  if (search_log_ != nullptr && !shown.positions.empty() && shown.search == nullptr) return;
  const auto until = cache_.popular_until(cache_key(*exchange.snapshot, request), answer);
  auto key = until ? rendered_key(exchange) : std::nullopt;
  if (!key) return;
  auto frame = std::make_shared<const BodyFrame>(frame_of(response.body, shown.search_id));
  rendered_.keep(std::move(*key),
                 {response.headers, std::move(frame), shown.search, answer.lists.size(), answer.domain,
                  answer.fusion.method},
                 *until);
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
                                 const PartialAnswer& on_partial) {
  auto answer = search_window(exchange, request, on_partial);
  if (!answer) return answer;
  const LoadedDomain& domain = *exchange.snapshot->find_domain(request.domain);
  SearchRequest further = request;
  while (wants_next_window(domain, further, **answer)) {
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
  for (const fetchers::FetchedList& list : (*answer)->lists) {
    metrics_.engine(list.query.engine, list.has_failed() ? fetchers::name_of(list.failure) : "ok",
                    seconds_of(list.elapsed));
    metrics_.breaker(list.query.engine, list.failure == fetchers::Failure::breaker_open);
  }
  return answer;
}

}  // namespace metafuse::service
