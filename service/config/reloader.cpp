#include "service/config/reloader.h"

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

namespace metafuse::service {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{500};
constexpr std::chrono::milliseconds kBetweenLooksWhenTold{1000};

}  // namespace

Reloader::Reloader(ReloaderOptions options, std::shared_ptr<const Snapshot> snapshot)
    : options_(std::move(options)), snapshot_(std::move(snapshot)) {
  note_models(*snapshot_);
  thread_ = std::thread([this] { reload_when_wanted(); });
}

Reloader::~Reloader() {
  stop();
}

std::shared_ptr<const Snapshot> Reloader::snapshot() const {
  const std::lock_guard lock(snapshot_mutex_);
  return snapshot_;
}

void Reloader::note_models(const Snapshot& snapshot) {
  std::vector<Metrics::Served> served;
  for (const auto& [name, domain] : snapshot.domains)
    served.push_back(
        {name, domain.etag.substr(0, 12), domain.model ? domain.served_version() : std::string("rrf")});
  options_.telemetry.metrics.serves(served);
}

Result<void> Reloader::reload() {
  const std::lock_guard lock(reload_mutex_);
  const auto load = [&]() -> Result<std::shared_ptr<const Snapshot>> {
    TRY(auto config, options_.reread ? options_.reread() : Result<ServerConfig>(options_.config));
    return load_snapshot(config, options_.load_engines);
  };
  auto loaded = load();
  options_.telemetry.metrics.reload(loaded.has_value());
  if (!loaded) {
    options_.telemetry.log.write(Log::Level::error, "reload refused", {{"reason", loaded.error().text}});
    return loaded.error();
  }
  const std::shared_ptr<const Snapshot> next = std::move(*loaded);
  note_models(*next);
  note_what_needs_a_restart(next->config);
  {
    const std::lock_guard swap_lock(snapshot_mutex_);
    snapshot_ = next;
  }
  if (options_.on_loaded) options_.on_loaded(*next);
  options_.telemetry.metrics.set(kReloadFailed, 0);
  options_.telemetry.log.write(Log::Level::info, "reloaded");
  return {};
}

/// Warns about settings that differ from those the process runs with and need a restart, so that nobody waits
/// for them to take effect.
void Reloader::note_what_needs_a_restart(const ServerConfig& next) {
  const ServerConfig& now = options_.config;
  const auto note = [&](std::string_view key, bool is_same) {
    if (!is_same) options_.telemetry.log.write(Log::Level::warning, "needs a restart", {{"key", key}});
  };
  note("listen", now.listen_host == next.listen_host && now.port == next.port);
  note("trusted_proxies", now.trusted_proxies == next.trusted_proxies);
  note("store", now.store == next.store);
  note("store_secret", now.store_secret == next.store_secret);
  note("store_max_bytes", now.store_max_bytes == next.store_max_bytes);
  note("models", now.models == next.models);
  note("workers", now.workers == next.workers);
  note("cache", now.cache == next.cache);
  note("privacy.hash_queries", now.privacy.hash_queries == next.privacy.hash_queries);
  note("traces.url", now.traces.url == next.traces.url);
  note("engine_health.file", now.engine_health.file == next.engine_health.file);
}

void Reloader::wish(bool Reloader::*what) {
  {
    const std::lock_guard lock(wishes_mutex_);
    this->*what = true;
  }
  wakes_.notify_all();
}

/// Opens the embedded indexes and builds their vocabularies in advance: for a large index that takes seconds,
/// for which the first search would otherwise wait.
void Reloader::prepare_indexes() {
  const std::shared_ptr<const Snapshot> current = snapshot();
  const auto is_stopping = [this] {
    const std::lock_guard lock(wishes_mutex_);
    return is_stopping_;
  };
  for (const auto& [engine, database] : current->engines.indexes)
    if (!is_stopping()) current->engines.fetcher->prepare(engine);
  for (const auto& [name, domain] : current->domains)
    for (const auto& vocabulary : domain.vocabularies)
      if (!is_stopping()) vocabulary->get();
}

void Reloader::reload_when_wanted() {
  prepare_indexes();
  std::unique_lock lock(wishes_mutex_);
  while (true) {
    const auto is_woken = [this] { return is_reload_wanted_ || is_look_wanted_ || is_stopping_; };
    if (options_.has_news)
      wakes_.wait_for(lock, options_.is_told() ? kBetweenLooksWhenTold : kBetweenLooks, is_woken);
    else
      wakes_.wait(lock, is_woken);
    if (is_stopping_) return;
    bool is_due = std::exchange(is_reload_wanted_, false);
    is_look_wanted_ = false;
    lock.unlock();
    if (options_.has_news && options_.has_news()) is_due = true;
    if (is_due) {
      const auto done = reload();
      if (done)
        prepare_indexes();
      else
        options_.telemetry.metrics.set(kReloadFailed, 1);  // the log has the reason
    }
    lock.lock();
  }
}

void Reloader::stop() {
  wish(&Reloader::is_stopping_);
  if (thread_.joinable()) thread_.join();
}

}  // namespace metafuse::service
