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
#include "fetchers/calling/embedded_search.h"
#include "fetchers/calling/learned_wait.h"
#include "fetchers/calling/make_fetcher.h"
#include "fetchers/engines/http/access_tokens.h"
#include "fetchers/engines/http/engine_request.h"
#include "fetchers/http/breaker.h"
#include "fetchers/http/sender_turns.h"

// What the fetcher knows about each engine while the process runs, and what all fetches share.

namespace metafuse::fetchers {

/// A search of an engine that blocks, for a thread that may be held up.
struct BlockingSearch {
  std::string sender;
  std::function<void()> run;
};

/// What is known about one engine while the process runs. The members after `mutex` change and are guarded
/// by it.
struct EngineState {
  Engine engine;
  std::shared_ptr<const ReadyAccess> http;   ///< for an engine behind HTTP
  std::shared_ptr<TokenKeepers> tokens;      ///< for an engine that uses OAuth2 tokens; all instances' own
  std::unique_ptr<EmbeddedEngine> embedded;  ///< for any other engine, unless a recording replaces it

  std::mutex mutex;
  std::shared_ptr<const ReadyAccess> described;  ///< `http` completed from the engine's description document
  Breaker breaker;
  LearnedWait learned_wait;
  SenderTurns<BlockingSearch> turns;  ///< at max_connections, for an engine that blocks
  OverdueRequests overdue;
  TimePoint last_success{};
  int largest_page = 0;  ///< the most results of a page so far, if the definition does not say

  /// The engine's other instances. How long it is waited for is learned here from all of them; breakers and
  /// overdue requests are each instance's own. Constant.
  std::vector<std::unique_ptr<EngineState>> others;

  /// Runs a search of an engine that blocks on a worker, once it is its sender's turn. False if too many of
  /// its sender wait already.
  ///
  /// in:     workers, clock - must outlive all searches
  bool run_in_turn(BlockingSearch search, BlockingWorkers& workers, const Clock& clock);
  /// Whether a fetch that waits for so long ends in less than half the time of the engine's quickest recent
  /// answer. Asking would cost the engine an answer that nobody waits for; a client that did so repeatedly
  /// would use up the engine for everybody.
  bool is_hopeless(const std::string& sender, Duration wait);

 private:
  void start_searches(BlockingWorkers& workers, const Clock& clock);
};

/// The key of a query's list among late ones.
std::string late_key(const ExpandedQuery& query, const FetchOptions& options);

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

/// How many additional requests may be sent: each ordinary request earns a part of one. Thread-safe.
class RequestBudget {
 public:
  /// in:     per_request - what a request earns; most - that can be saved up
  RequestBudget(double per_request, double most, double at_first)
      : per_request_(per_request), most_(most), left_(at_first) {}

  void earn();
  /// Takes as many requests from the budget; false when less is left.
  bool take(int requests = 1);

 private:
  const double per_request_, most_;
  std::mutex mutex_;
  double left_;
};

class Embedder;

/// What all fetches of one fetcher share. Tasks that outlive their fetch keep it alive.
struct FetcherState {
  FetcherOptions options;
  const Clock* clock = nullptr;
  std::vector<std::unique_ptr<EngineState>> engines;
  LateLists late;
  /// Reads answers that nobody waits for any more, so that no thread does that on which others depend.
  BlockingWorkers late_work{1};
  std::atomic<bool> is_ending = false;  ///< whatever takes long should stop
  std::shared_ptr<Embedder> embedder;
  std::weak_ptr<Transport> token_transport;  ///< of the fetcher, for the next one
  RequestBudget retries{0.2, 10, 2};
  RequestBudget hedges{0.02, 5, 0};

  EngineState* find(std::string_view name) const;
  /// Runs work on answers that nobody waits for any more. False when the fetcher is ending.
  bool run_late(std::function<void()> work);
  /// Whether so much of it waits that answers should not be parsed any more.
  bool is_behind() const;
};

}  // namespace metafuse::fetchers
