#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "core/deadline.h"
#include "core/result.h"
#include "service/answer_cache.h"
#include "service/exchange.h"
#include "service/http_message.h"
#include "service/log.h"
#include "service/metrics.h"
#include "service/router.h"
#include "service/search_pipeline.h"
#include "service/snapshot.h"
#include "service/worker_pool.h"

namespace metafuse::service {

/// What an App is made of; tests put their own engines and clock in.
struct AppOptions {
  ServerConfig config;
  LoadEngines load_engines;
  std::function<Result<ServerConfig>()> reread;  ///< the configuration again, for reload()
  const Clock* clock = nullptr;
};

/// The server without its sockets: routes requests to handlers, and owns what they share.
class App {
 public:
  /// errors: those of load_snapshot
  static Result<std::unique_ptr<App>> create(AppOptions options);
  App(const App&) = delete;
  App& operator=(const App&) = delete;
  ~App();

  /// Answers a request; on an I/O thread, so it never blocks.
  void handle(HttpRequest request, std::shared_ptr<Responder> responder);

  /// Loads configuration, templates, engines and models again; on any mistake the old ones stay.
  Result<void> reload();
  /// The same soon, on a thread of its own; several wishes become one.
  void reload_soon();
  void start_draining() { is_draining_ = true; }
  /// Finishes the work under way; requests after this get 503.
  void stop();

  /// A search through the cache, counted and timed.
  Result<SharedAnswer> search(const Exchange& exchange, const SearchRequest& request);

  std::shared_ptr<const Snapshot> snapshot() const;
  bool is_draining() const { return is_draining_; }
  const Clock& clock() const { return *options_.clock; }
  Metrics& metrics() { return metrics_; }
  Log& log() { return log_; }
  AnswerCache& cache() { return cache_; }
  WorkerPool& pool() { return pool_; }

 private:
  App(AppOptions options, std::shared_ptr<const Snapshot> snapshot);
  void dispatch(const Route& route, std::shared_ptr<Exchange> exchange, std::shared_ptr<Responder> responder);
  void run(const Route& route, const Exchange& exchange, Responder& responder);
  void answer(const Exchange& exchange, HttpResponse response, Responder& responder);
  void reload_when_wanted();
  void note_models(const Snapshot& snapshot);

  AppOptions options_;
  mutable std::mutex snapshot_mutex_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::mutex reload_mutex_;
  std::mutex reloader_mutex_;
  std::condition_variable reloader_wakes_;
  bool is_reload_wanted_ = false;
  bool is_stopping_ = false;
  std::atomic<bool> is_draining_{false};
  Metrics metrics_;
  Log log_;
  AnswerCache cache_;
  WorkerPool pool_;
  std::thread reloader_;
};

}  // namespace metafuse::service
