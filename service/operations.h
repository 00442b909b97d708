#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "service/base/log.h"
#include "service/base/metrics.h"
#include "service/base/traces.h"
#include "service/http/server.h"
#include "service/learning/records.h"
#include "service/searcher.h"
#include "service/workers/worker_pool.h"

namespace metafuse::service {

/// How the process does, for probes and metrics: all of it is at hand, so that nothing is waited for. From
/// any thread.
class Operations {
 public:
  /// What runs the sockets: it takes new limits at a reload, and tells its counts. Cleared before it
  /// goes away.
  struct Sockets {
    std::function<void(const LimitsConfig&)> set_limits;
    std::function<ConnectionCounts()> counts;
  };

  /// What it reads; all must outlive it.
  struct Sources {
    Metrics& metrics;
    const Log& log;
    const WorkerPool& pool;
    const Searcher& searcher;
    const Records& records;
    const Traces* traces;  ///< nullptr where none are made
  };
  explicit Operations(const Sources& sources) : sources_(sources) {}
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;

  void attach(Sockets sockets);
  void set_limits(const LimitsConfig& limits);
  void start_draining() { is_draining_ = true; }
  bool is_draining() const { return is_draining_; }
  /// Which templates and model serve each of the domains, one per line.
  static std::string versions(const std::vector<const LoadedDomain*>& domains);
  /// What does not work while searching goes on, one per line, without names of hosts or files.
  std::string troubles() const;
  /// Prometheus' text, with what is read at this moment.
  std::string metrics_text();

 private:
  const Sources sources_;
  std::mutex sockets_mutex_;
  Sockets sockets_;
  std::atomic<bool> is_draining_{false};
};

}  // namespace metafuse::service
