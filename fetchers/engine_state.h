#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/recently_used.h"
#include "fetchers/definition/engine_request.h"
#include "fetchers/embedded/embedded_search.h"
#include "fetchers/make_fetcher.h"

// What the fetcher knows about each engine while the process runs, and what all fetches share.

namespace metafuse::fetchers {

struct BreakerOptions {
  int failures_to_open = 5;
  Duration first_backoff = std::chrono::seconds(2);  ///< doubled with each failed probe
  Duration longest_backoff = std::chrono::minutes(5);
  Duration longest_retry_after = std::chrono::hours(1);
};

/// A circuit breaker: leaves an engine alone that failed several times in a row. It is closed at first, then
/// open for a while, then half open: one probe is sent, whose outcome closes it or opens it for longer. A
/// plain value; the caller does the locking.
class Breaker {
 public:
  enum class Verdict {
    go,
    probe,  ///< send one request whose outcome decides; users should not wait for it
    stay,   ///< leave the engine alone
  };

  explicit Breaker(BreakerOptions options = {}) : options_(options) {}

  /// After it returned `probe`, every call returns `stay` until the probe's outcome is reported.
  Verdict ask(TimePoint now);
  /// Sends a request although the breaker is open, because no other engine is left. It counts as a probe.
  void force();
  void succeeded();
  /// in:     is_probe - whether ask() or force() let this request through as a probe; retry_after - the pause
  ///         that the engine asked for. The engine is then left alone at least that long, even after its
  ///         first failure.
  void failed(TimePoint now, bool is_probe, std::optional<Duration> retry_after = std::nullopt);

  bool is_closed() const { return !open_until_; }
  /// When the next probe is due. Requires !is_closed().
  TimePoint open_until() const { return *open_until_; }

 private:
  void open(TimePoint now, std::optional<Duration> retry_after);

  BreakerOptions options_;
  int failures_in_a_row_ = 0;
  int times_opened_ = 0;
  bool is_probing_ = false;
  std::optional<TimePoint> open_until_;
};

/// How long it is worth waiting for an engine: 1.5 times the 95th percentile of its recent response times,
/// within a floor and a ceiling. A plain value; the caller does the locking.
class LearnedWait {
 public:
  void add(Duration latency);
  /// nullopt until 16 response times are known.
  std::optional<Duration> limit(const LearnedWaitOptions& options = {}) const;
  /// The shortest recent response time; nullopt until 16 are known.
  std::optional<Duration> quickest() const;

 private:
  static constexpr std::size_t kWindow = 64;
  static constexpr std::size_t kFewest = 16;

  std::array<Duration, kWindow> latencies_{};
  std::size_t count_ = 0;
};

/// What is known about one engine while the process runs. The members after `mutex` change and are guarded
/// by it.
struct EngineState {
  Engine engine;
  std::shared_ptr<const ReadyAccess> http;   ///< for an engine behind HTTP
  std::shared_ptr<TokenKeeper> tokens;       ///< for an engine that uses OAuth2 tokens
  std::unique_ptr<EmbeddedEngine> embedded;  ///< for any other engine, unless a recording replaces it

  std::mutex mutex;
  std::shared_ptr<const ReadyAccess> described;  ///< `http` completed from the engine's description document
  Breaker breaker;
  LearnedWait learned_wait;
  int in_use = 0;   ///< places of max_connections in use, for an engine that blocks
  int overdue = 0;  ///< requests that nobody waits for any more and that are still unanswered
  TimePoint overdue_since{};
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
struct SharedState {
  FetcherOptions options;
  const Clock* clock = nullptr;
  std::vector<std::unique_ptr<EngineState>> engines;
  LateLists late;
  std::shared_ptr<Embedder> embedder;
  std::mutex retry_mutex;
  double retry_tokens = 2;  ///< the retry budget: each request earns a fifth of a retry

  EngineState* find(std::string_view name) const;
  /// Takes one retry from the budget; false when none is left.
  bool take_retry();
  void earn_retry();
};

}  // namespace metafuse::fetchers
