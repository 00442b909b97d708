#include "service/app.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "core/contract.h"
#include "service/access/access.h"
#include "service/errors.h"
#include "service/http/client_address.h"

namespace metafuse::service {
namespace {

constexpr unsigned kWorkersPerCore = 32;
constexpr unsigned kRunningPerCore = 3;

unsigned core_count() {
  return std::max(1U, std::thread::hardware_concurrency());
}

/// Searches that run together share the fetcher's passes over the sockets, which costs them less.
std::size_t running_when_busy() {
  return kRunningPerCore * core_count();
}

/// One a core, and one that takes over where another waits for an engine.
std::size_t running_in_crowd() {
  return core_count() + 1;
}

unsigned worker_count(const ServerConfig& config) {
  return config.workers > 0 ? config.workers : kWorkersPerCore * core_count();
}

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
  return {limits.max_queue, duration_of(limits.queue_seconds), running_when_busy(), running_in_crowd()};
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
      key_guard_(options_.config.limits.failed_keys_per_minute),
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
  key_guard_.set_rate(limits.failed_keys_per_minute);
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
  const Dialect dialect = error_dialect(match.route, exchange->request);
  if (auto refusal = check_access(match.route, key_guard_, *exchange)) {
    metrics_.refused(refusal->reason);
    exchange->refused = refusal->reason;
    HttpResponse response = error_response(dialect, refusal->status, refusal->text);
    if (refusal->retry_after_seconds)
      response.set("Retry-After", retry_after_text(*refusal->retry_after_seconds));
    return answer(*exchange, std::move(response), *responder);
  }
  const auto wait = match.route != nullptr ? seconds_too_fast(*match.route, *exchange) : std::nullopt;
  if (wait) {
    metrics_.refused("rate");
    exchange->refused = "rate";
    HttpResponse response = error_response(dialect, 429, "too many requests from this address; slow down");
    response.set("Retry-After", retry_after_text(*wait));
    return answer(*exchange, std::move(response), *responder);
  }
  if (match.route != nullptr) {
    if (answer_rendered(*exchange, *responder)) return;
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
           error_response(error_dialect(&route, exchange->request), 503,
                          "too much work waits already; try again in a second"),
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
  answer(exchange,
         error_response(error_dialect(&route, exchange.request), 500, "a mistake of ours; it is in the log"),
         responder);
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
  log_.request({.route = exchange.route,
                .method = exchange.request.method,
                .status = status,
                .seconds = seconds,
                .bytes = bytes,
                .key = exchange.key == nullptr ? std::string_view() : std::string_view(exchange.key->name),
                .refused = exchange.refused,
                .trace = exchange.traceparent});
}

KeyGuard::Answer App::find_key(const Exchange& exchange, std::string_view presented) {
  const KeyGuard::Answer found = key_guard_.find(exchange.snapshot->config.keys, presented,
                                                 address_prefix(exchange.client), clock().now());
  if (found.key == nullptr) metrics_.refused(found.retry_after_seconds ? "key_rate" : "bad_key");
  return found;
}

std::optional<double> App::seconds_too_fast(const Route& route, const Exchange& exchange) {
  if (route.access == Access::open || exchange.key != nullptr) return std::nullopt;
  const Admission admission = limiter_.take(address_prefix(exchange.client), clock().now());
  if (admission.is_admitted) return std::nullopt;
  return admission.retry_after_seconds;
}

}  // namespace metafuse::service
