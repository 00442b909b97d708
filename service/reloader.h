#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "core/result.h"
#include "service/base/log.h"
#include "service/base/metrics.h"
#include "service/config/snapshot.h"

namespace metafuse::service {

/// What a reloader works with; `metrics` and `log` must outlive it.
struct ReloaderOptions {
  ServerConfig config;  ///< what the process runs with
  LoadEngines load_engines;
  std::function<Result<ServerConfig>()> reread;    ///< the configuration again; may be empty
  std::function<void(const Snapshot&)> on_loaded;  ///< after a new snapshot took the old one's place
  /// Looks whether files changed that other servers share; may be empty. Called every half second, or every
  /// second and when somebody says so where `is_told`.
  std::function<bool()> has_news;
  std::function<bool()> is_told;  ///< whether changes are told by look_soon(); needed with `has_news`
  Metrics& metrics;
  Log& log;
};

/// Holds the snapshot that requests are answered from, and replaces it when configuration, templates, engines
/// or models changed. From any thread.
class Reloader {
 public:
  Reloader(ReloaderOptions options, std::shared_ptr<const Snapshot> snapshot);
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;
  ~Reloader();

  std::shared_ptr<const Snapshot> snapshot() const;
  /// Loads everything again; on any mistake the old snapshot stays.
  Result<void> reload();
  /// The same soon, on a thread of its own; several wishes become one.
  void reload_soon();
  /// Has a look at what other servers changed soon.
  void look_soon();
  /// No reload begins after this.
  void stop();
  /// Held while a template file is saved.
  std::mutex& files_mutex() { return files_mutex_; }

 private:
  void note_models(const Snapshot& snapshot);
  void note_what_needs_a_restart(const ServerConfig& next);
  void make_vocabularies();
  void reload_when_wanted();

  ReloaderOptions options_;
  mutable std::mutex snapshot_mutex_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::mutex reload_mutex_;
  std::mutex files_mutex_;
  std::mutex wishes_mutex_;
  std::condition_variable wakes_;
  bool is_reload_wanted_ = false;
  bool is_look_wanted_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace metafuse::service
