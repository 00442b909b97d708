#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "core/result.h"
#include "service/base/traces.h"
#include "service/config/snapshot.h"

namespace metafuse::service {

/// The parts that a reloader works with; `telemetry` must outlive it.
struct ReloaderOptions : SnapshotSource {
  std::function<void(const Snapshot&)> on_loaded;  ///< called after a new snapshot has replaced the old one
  /// Checks for changes of files that are shared with other servers; may be empty. Called every half second;
  /// while `is_told` holds, every second and after look_soon().
  std::function<bool()> has_news;
  std::function<bool()> is_told;  ///< whether changes are announced by look_soon(); required with `has_news`
  Telemetry& telemetry;
};

/// Holds the snapshot from which requests are answered, and replaces it when the configuration, templates,
/// engines or models have changed. Safe from any thread.
class Reloader {
 public:
  Reloader(ReloaderOptions options, std::shared_ptr<const Snapshot> snapshot);
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;
  ~Reloader();

  std::shared_ptr<const Snapshot> snapshot() const;
  /// Loads everything again. On any error the old snapshot stays.
  Result<void> reload();
  /// Requests a reload on the reloader's thread; several requests become one reload.
  void reload_soon() { wish(&Reloader::is_reload_wanted_); }
  /// Requests a check for changes by other servers, on the reloader's thread.
  void look_soon() { wish(&Reloader::is_look_wanted_); }
  /// Stops the thread. No reload begins after this.
  void stop();
  /// To be locked while a template file is saved.
  std::mutex& files_mutex() { return files_mutex_; }

 private:
  /// Sets one of the flags for which the thread waits.
  void wish(bool Reloader::*what);
  void note_models(const Snapshot& snapshot);
  void note_what_needs_a_restart(const ServerConfig& next);
  void prepare_indexes();
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
