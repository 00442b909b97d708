#include "service/app.h"

#include <chrono>
#include <thread>
#include <utility>

#include "core/contract.h"
#include "service/store/redis_client.h"
#include "service/workers/pool_size.h"

namespace metafuse::service {
namespace {

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
  TRY(auto snapshot, load_snapshot(options.config, options.load_engines));
  if (!options.unix_time) options.unix_time = machine_time;
  std::unique_ptr<Store> store;
  std::string secret;
  if (!options.config.store.empty()) {
    TRY(auto opened, open_store(options.config.store));
    store = std::move(opened);
    TRY(auto stored, store->secret());
    secret = std::move(stored);
  }
  return std::unique_ptr<App>(
      new App(std::move(options), std::move(snapshot), std::move(store), std::move(secret)));
}

std::shared_ptr<const Snapshot> App::snapshot() const {
  const std::lock_guard lock(snapshot_mutex_);
  return snapshot_;
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

}  // namespace metafuse::service
