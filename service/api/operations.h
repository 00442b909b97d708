#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "service/api/rendered_answers.h"
#include "service/base/traces.h"
#include "service/http/server.h"
#include "service/http/worker_pool.h"
#include "service/learning/records.h"
#include "service/search/answer_source.h"

namespace metafuse::service {

/// The state of the process, for probes and metrics. It only reads values in memory and never waits. Safe
/// from any thread.
class Operations {
 public:
  /// Callbacks of the HTTP server: it takes new limits at a reload and reports its counts. They must be
  /// cleared before the HTTP server is destroyed.
  struct Sockets {
    std::function<void(const LimitsConfig&)> set_limits;
    std::function<ConnectionCounts()> counts;
  };

  /// The parts that it reads; all must outlive it.
  struct Sources {
    Telemetry& telemetry;
    const WorkerPool& pool;
    const AnswerSource& source;
    const RenderedAnswers& rendered;
    const Records& records;
  };
  explicit Operations(const Sources& sources) : sources_(sources) {}
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;

  void attach(Sockets sockets);
  void set_limits(const LimitsConfig& limits);
  void start_draining() { is_draining_ = true; }
  bool is_draining() const { return is_draining_; }
  /// The versions of templates and model that serve each of the domains, one domain per line.
  static std::string versions(const std::vector<const LoadedDomain*>& domains);
  /// The states of the engines' answers.
  std::vector<fetchers::EngineHealth> engines() const { return sources_.telemetry.health.all(); }
  /// What does not work although searching does, one problem per line, without names of hosts or files.
  std::string troubles() const;
  /// The metrics in Prometheus' text format, after reading the current gauges.
  ///
  /// in: snapshot - the one in use
  std::string metrics_text(const Snapshot& snapshot);

 private:
  void show_engine_health();

  const Sources sources_;
  std::mutex sockets_mutex_;
  Sockets sockets_;
  std::atomic<bool> is_draining_{false};
};

/// The states of the engines that a request's key may ask, or all without a key.
std::vector<fetchers::EngineHealth> engines_for(const Operations& operations, const Exchange& exchange);

}  // namespace metafuse::service
