#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/deadline.h"
#include "core/result.h"
#include "service/access/key_guard.h"
#include "service/access/keys.h"
#include "service/access/rate_limiter.h"
#include "service/access/shared_limits.h"
#include "service/answers/rendered_answers.h"
#include "service/base/log.h"
#include "service/base/metrics.h"
#include "service/base/rare_events.h"
#include "service/cache/answer_cache.h"
#include "service/cache/shared_answers.h"
#include "service/config/snapshot.h"
#include "service/http/exchange.h"
#include "service/http/message.h"
#include "service/http/server.h"
#include "service/learning/caretaker.h"
#include "service/learning/online_rerankers.h"
#include "service/learning/search_log.h"
#include "service/router.h"
#include "service/search/search_answer.h"
#include "service/search/search_pipeline.h"
#include "service/search/search_request.h"
#include "service/search/shown_results.h"
#include "service/search/suggester.h"
#include "service/store/model_versions.h"
#include "service/store/store.h"
#include "service/workers/worker_pool.h"

namespace metafuse::service {

/// What an App is made of; tests put their own engines and clock in.
struct AppOptions {
  ServerConfig config;
  LoadEngines load_engines;
  std::function<Result<ServerConfig>()> reread;  ///< the configuration again, for reload()
  const Clock* clock = nullptr;
  std::function<UnixTime()> unix_time;  ///< for what is stored; the machine's without it
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
  /// What runs the sockets: it takes new limits at a reload, and tells its counts to /metrics. Cleared before
  /// it goes away.
  struct Sockets {
    std::function<void(const LimitsConfig&)> set_limits;
    std::function<ConnectionCounts()> counts;
  };
  void attach(Sockets sockets);
  std::optional<ConnectionCounts> connections() const;
  /// Finishes the work under way; requests after this get 503.
  void stop();

  /// A search through the cache, counted and timed.
  ///
  /// in: sites - results that they block are made up for by asking the engines further
  Result<SharedAnswer> search(const Exchange& exchange, const SearchRequest& request,
                              const SitePreferences& sites = {}, const PartialAnswer& on_partial = {});

  /// Compares a key that a form carries; a client that guesses is slowed down as with the header.
  KeyGuard::Answer find_key(const Exchange& exchange, std::string_view presented);
  /// 429 when the key's quota for today does not hold the request's expanded queries, which are charged.
  std::optional<HttpResponse> over_quota(Dialect dialect, const Exchange& exchange,
                                         const SearchRequest& request);
  std::optional<HttpResponse> over_quota(Dialect dialect, const Exchange& exchange,
                                         std::size_t expanded_queries);
  /// Keeps what is shown, so that feedback can refer to it; sets shown.search_id. Nothing without a store.
  void remember(const Exchange& exchange, const SearchAnswer& answer, ShownResults& shown);
  /// Makes a search's rendered answer ready to be sent: fills its gaps, and names in a header the engines
  /// whose lists are missing. It is kept for equal requests when the fused answer behind it is cached and was
  /// asked for before.
  HttpResponse finish_search(const Exchange& exchange, FoundSearch found, HttpResponse rendered);
  std::vector<std::string> suggest(std::string_view prefix) const { return suggester_.complete(prefix); }
  Store* store() { return store_.get(); }
  SearchLog* search_log() { return search_log_.get(); }
  /// nullptr without a folder of models.
  ModelVersions* model_versions() { return model_versions_.get(); }

  /// nullptr without a store and a folder of models; learns only where the configuration says so.
  OnlineRerankers* online_rerankers() { return online_rerankers_.get(); }

  /// Sends an answer with the headers that all have, counted and logged.
  void answer(const Exchange& exchange, HttpResponse response, Responder& responder);
  /// Counts and logs an answer that a handler sent piece by piece.
  void count(const Exchange& exchange, int status, std::size_t bytes = 0);

  std::shared_ptr<const Snapshot> snapshot() const;
  bool is_draining() const { return is_draining_; }
  UnixTime unix_time() const { return options_.unix_time(); }
  const Clock& clock() const { return *options_.clock; }
  Metrics& metrics() { return metrics_; }
  Log& log() { return log_; }
  AnswerCache& cache() { return cache_; }
  const RenderedAnswers& rendered() const { return rendered_; }
  WorkerPool& pool() { return pool_; }
  /// Held while a template file is saved.
  std::mutex& template_mutex() { return template_mutex_; }

 private:
  App(AppOptions options, std::shared_ptr<const Snapshot> snapshot, std::unique_ptr<Store> store,
      std::string secret);
  /// How long a client without a key must wait that asks too often; nothing when it does not.
  std::optional<double> seconds_too_fast(const Route& route, const Exchange& exchange);
  void apply_limits(const LimitsConfig& limits);
  void note_what_needs_a_restart(const ServerConfig& next);
  void dispatch(const Route& route, std::shared_ptr<Exchange> exchange, std::shared_ptr<Responder> responder);
  void run(const Route& route, const Exchange& exchange, Responder& responder);
  /// Answers from what was rendered before; false when there is nothing, or the key's quota does not surely
  /// hold it.
  bool answer_rendered(const Exchange& exchange, Responder& responder);
  /// Until when; nothing for an answer that is not the same twice, or that nobody asked for before.
  std::optional<TimePoint> may_be_sent_again(const Exchange& exchange, const FoundSearch& found) const;
  SharedAnswer reranked(const Snapshot& snapshot, const LoadedDomain& domain,
                        const SharedAnswer& answer) const;
  bool is_interleaving(const Snapshot& snapshot, const LoadedDomain& domain) const;
  void reload_when_wanted();
  SharedAnswer interleaved(const Snapshot& snapshot, const SearchRequest& request,
                           const SharedAnswer& answer) const;
  Result<SharedAnswer> search_window(const Exchange& exchange, const SearchRequest& request,
                                     const PartialAnswer& on_partial);
  Result<SearchAnswer> search_uncached(const Snapshot& snapshot, const SearchRequest& request,
                                       const PartialAnswer& on_partial);
  Result<SearchAnswer> search_engines(const Snapshot& snapshot, const SearchRequest& request,
                                      const PartialAnswer& on_partial);
  void note_models(const Snapshot& snapshot);
  /// Counts what the engines did, and says in the log which failed.
  void note_lists(const std::vector<fetchers::FetchedList>& lists);

  AppOptions options_;
  mutable std::mutex snapshot_mutex_;
  std::shared_ptr<const Snapshot> snapshot_;
  mutable std::mutex sockets_mutex_;
  Sockets sockets_;
  std::mutex reload_mutex_;
  std::mutex template_mutex_;
  std::mutex reloader_mutex_;
  std::condition_variable reloader_wakes_;
  bool is_reload_wanted_ = false;
  bool is_stopping_ = false;
  std::atomic<bool> is_draining_{false};
  Metrics metrics_;
  Log log_;
  RareEvents engine_failures_;
  AnswerCache cache_;
  RenderedAnswers rendered_;
  std::unique_ptr<SharedAnswers> shared_answers_;
  Suggester suggester_;
  RateLimiter limiter_;
  KeyGuard key_guard_;
  std::unique_ptr<SharedLimits> shared_limits_;
  std::unique_ptr<Store> store_;
  std::string secret_;  ///< the store's
  std::unique_ptr<SearchLog> search_log_;
  std::unique_ptr<ModelVersions> model_versions_;
  std::unique_ptr<OnlineRerankers> online_rerankers_;
  Quotas quotas_;
  WorkerPool pool_;
  std::thread reloader_;
  std::unique_ptr<Caretaker> caretaker_;
};

}  // namespace metafuse::service
