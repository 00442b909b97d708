#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fetchers/breaker.h"
#include "fetchers/definition/engine_request.h"
#include "fetchers/embedded/embedded_search.h"
#include "fetchers/learned_wait.h"
#include "fetchers/make_fetcher.h"

namespace metafuse::fetchers {

/// What is known of one engine while the process runs. Fields behind `mutex` change.
struct EngineState {
  Engine engine;
  std::shared_ptr<const ReadyAccess> http;   ///< of an engine behind HTTP
  std::unique_ptr<EmbeddedEngine> embedded;  ///< of any other, unless a recording answers for it

  std::mutex mutex;
  std::shared_ptr<const ReadyAccess> described;  ///< `http` with what the description document says
  Breaker breaker;
  LearnedWait learned_wait;
  int overdue = 0;  ///< requests that nobody waits for any more and that are not in yet
  TimePoint overdue_since{};
  TimePoint last_success{};
};

/// Lists that came too late for their query, for the next query of the same text. Bounded in number and age.
class LateLists {
 public:
  void put(std::string key, RankedList list, TimePoint now);
  std::optional<RankedList> take(const std::string& key, TimePoint now);
  bool is_empty() const { return count_.load(std::memory_order_relaxed) == 0; }

 private:
  struct Entry {
    RankedList list;
    TimePoint at;
  };
  std::mutex mutex_;
  std::atomic<std::size_t> count_ = 0;
  std::map<std::string, Entry> entries_;
};

/// What all fetches of one fetcher share; tasks that outlive their fetch keep it alive.
struct SharedState {
  FetcherOptions options;
  const Clock* clock = nullptr;
  std::vector<std::unique_ptr<EngineState>> engines;
  LateLists late;
  std::mutex retry_mutex;
  double retry_tokens = 2;  ///< retries that the budget allows: a fifth of the requests

  EngineState* find(std::string_view name) const;
  /// True when the budget has a retry left, which is taken.
  bool take_retry();
  void earn_retry();
};

}  // namespace metafuse::fetchers
