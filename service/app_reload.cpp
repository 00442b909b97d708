#include <utility>

#include "service/app.h"
#include "service/workers/pool_size.h"

// How a running server takes a changed configuration, new templates and new models.

namespace metafuse::service {

void App::note_models(const Snapshot& snapshot) {
  for (const auto& [name, domain] : snapshot.domains)
    metrics_.model(name, domain.model ? domain.model_digest.substr(0, 12) : "rrf");
}

Result<void> App::reload() {
  const std::lock_guard lock(reload_mutex_);
  const auto load = [&]() -> Result<std::shared_ptr<const Snapshot>> {
    TRY(auto config, options_.reread ? options_.reread() : Result<ServerConfig>(options_.config));
    return load_snapshot(config, options_.load_engines);
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

}  // namespace metafuse::service
