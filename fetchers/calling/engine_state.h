#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/recently_used.h"
#include "fetchers/calling/blocking_workers.h"
#include "fetchers/calling/breaker.h"
#include "fetchers/calling/embedded_search.h"
#include "fetchers/calling/learned_wait.h"
#include "fetchers/calling/make_fetcher.h"
#include "fetchers/engines/http/access_tokens.h"
#include "fetchers/engines/http/engine_request.h"

// What the fetcher knows about each engine while the process runs, and what all fetches share.

namespace metafuse::fetchers {

/// What is known about one engine while the process runs. The members after `mutex` change and are guarded
/// by it.
struct EngineState {
  Engine engine;
  std::shared_ptr<const ReadyAccess> http;   ///< for an engine behind HTTP
  std::unique_ptr<TokenKeepers> tokens;      ///< for an engine that uses OAuth2 tokens
  std::unique_ptr<EmbeddedEngine> embedded;  ///< for any other engine, unless a recording replaces it

  std::mutex mutex;
  std::shared_ptr<const ReadyAccess> described;  ///< `http` completed from the engine's description document
  Breaker breaker;
  LearnedWait learned_wait;
  int in_use = 0;  ///< places of max_connections in use, for an engine that blocks
  OverdueRequests overdue;
  TimePoint last_success{};

  /// Takes one of max_connections places; false when all are in use.
  bool take_place();
  void give_place();
};

/// Lists that arrived too late for their query, kept for the next queries with the same text. Bounded in
/// number and age.
class LateLists {
 public:
  void put(std::string key, RankedList list, TimePoint now);
  std::optional<RankedList> find(const std::string& key, TimePoint now);
  bool is_empty() const { return count_.load(std::memory_order_relaxed) == 0; }

 private:
  struct Entry {
    RankedList list;
    TimePoint at;
  };
  std::mutex mutex_;
  std::atomic<std::size_t> count_ = 0;
  RecentlyUsed<Entry> entries_;
};

class Embedder;

/// What all fetches of one fetcher share. Tasks that outlive their fetch keep it alive.
struct FetcherState {
  FetcherOptions options;
  const Clock* clock = nullptr;
  std::vector<std::unique_ptr<EngineState>> engines;
  LateLists late;
  /// Reads answers that nobody waits for any more, so that no thread does that on which others depend.
  BlockingWorkers late_work{1, SIZE_MAX};
  std::atomic<bool> is_ending = false;  ///< whatever takes long should stop
  std::shared_ptr<Embedder> embedder;
  std::mutex retry_mutex;
  double retry_tokens = 2;  ///< the retry budget: each request earns a fifth of a retry

  EngineState* find(std::string_view name) const;
  /// Takes one retry from the budget; false when none is left.
  bool take_retry();
  void earn_retry();
  /// Runs work on answers that nobody waits for any more. False when the fetcher is ending.
  bool run_late(std::function<void()> work);
  /// Whether so much of it waits that answers should not be parsed any more.
  bool is_behind() const;
};

}  // namespace metafuse::fetchers
