#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/atomic_file.h"
#include "core/json.h"
#include "core/random.h"
#include "core/result.h"
#include "fetchers/health/health_book.h"
#include "service/base/dates.h"
#include "service/config/snapshot.h"
#include "service/store/stored_search.h"

namespace metafuse::service {

/// The parts that a health keeper works with; all must outlive it.
struct HealthKeeperOptions {
  fetchers::HealthBook& book;
  std::function<std::shared_ptr<const Snapshot>()> snapshot;
  std::function<UnixTime()> unix_time;
  std::function<void(std::string_view event, JsonObject fields)> on_event;  ///< for log events
  std::uint64_t seed = 0;  ///< of the times at which engines are tried
};

/// Keeps the profiles of the engines' answers in the configured file, and tries engines by known queries
/// once a day at random times, on a thread of its own.
class HealthKeeper {
 public:
  explicit HealthKeeper(HealthKeeperOptions options);
  HealthKeeper(const HealthKeeper&) = delete;
  HealthKeeper& operator=(const HealthKeeper&) = delete;
  ~HealthKeeper() { stop(); }

  /// Reads the file and watches the snapshot's engines. A file that cannot be read is reported, and the
  /// profiles begin anew.
  void open();
  /// Starts the thread. Requires open().
  void start();
  /// Ends the thread, and saves what is known.
  void stop();

  /// Does what is due at a time. The thread calls it.
  void tick(UnixTime now);

 private:
  void try_engine(const Snapshot& snapshot, const fetchers::Engine& engine, UnixTime now);
  void save(UnixTime now);

  HealthKeeperOptions options_;
  Random random_;
  std::map<std::string, UnixTime> next_try_;
  std::map<std::string, std::size_t> turns_;
  UnixTime next_save_ = 0;
  std::uint64_t saved_ = 0;  ///< HealthBook::changes() at the last save
  std::string file_;         ///< that open() read and locked; another one needs a restart
  FileLock lock_;            ///< of the file; others then only read it
  bool may_write_ = false;
  std::mutex mutex_;
  std::condition_variable wakes_;
  bool is_stopping_ = false;
  std::thread thread_;
};

/// Logs changes of engines' states.
void report_changes(const std::vector<fetchers::HealthChange>& changes,
                    const std::function<void(std::string_view event, JsonObject fields)>& on_event);

}  // namespace metafuse::service
