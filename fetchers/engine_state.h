#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "fetchers/definition/engine_request.h"
#include "fetchers/embedded/embedded_search.h"
#include "fetchers/make_fetcher.h"

namespace metafuse::fetchers {

struct BreakerOptions {
  int failures_to_open = 5;
  Duration first_backoff = std::chrono::seconds(2);  ///< doubled by every probe that fails
  Duration longest_backoff = std::chrono::minutes(5);
  Duration longest_retry_after = std::chrono::hours(1);
};

/// Leaves an engine alone that failed several times in a row: closed, then open for a while, then half open
/// with one probe, whose outcome closes it or opens it for longer. A value; the caller locks.
class Breaker {
 public:
  enum class Verdict {
    go,
    probe,  ///< send one request whose outcome decides; a user should not wait for it
    stay,   ///< leave the engine alone
  };

  explicit Breaker(BreakerOptions options = {}) : options_(options) {}

  /// After `probe`, every call says `stay` until the probe's outcome is reported.
  Verdict ask(TimePoint now);
  /// A request that is sent although the engine should be left alone, because no other engine is left.
  void force();
  void succeeded();
  /// in: is_probe - of the request that ask() or force() let through as a probe; retry_after - what the
  ///     engine asks for: it is left alone at least that long, from the first failure on
  void failed(TimePoint now, bool is_probe, std::optional<Duration> retry_after = std::nullopt);

  bool is_closed() const { return !open_until_; }
  /// When the next probe is due; requires !is_closed().
  TimePoint open_until() const { return *open_until_; }

 private:
  void open(TimePoint now, std::optional<Duration> retry_after);

  BreakerOptions options_;
  int failures_in_a_row_ = 0;
  int times_opened_ = 0;
  bool is_probing_ = false;
  std::optional<TimePoint> open_until_;
};

/// How long waiting for an engine pays: the 95th percentile of its recent answers and half as much again, not
/// less than a floor and not more than a ceiling. A value; the caller locks.
class LearnedWait {
 public:
  void add(Duration latency);
  /// Nothing until 16 answers are known.
  std::optional<Duration> limit(const LearnedWaitOptions& options = {}) const;
  /// The shortest of the recent answers; nothing until 16 are known.
  std::optional<Duration> quickest() const;

 private:
  static constexpr std::size_t kWindow = 64;
  static constexpr std::size_t kFewest = 16;

  std::array<Duration, kWindow> latencies_{};
  std::size_t count_ = 0;
};

/// What is known of one engine while the process runs. Fields behind `mutex` change.
struct EngineState {
  Engine engine;
  std::shared_ptr<const ReadyAccess> http;   ///< of an engine behind HTTP
  std::shared_ptr<TokenKeeper> tokens;       ///< of an engine that wants OAuth2 tokens
  std::unique_ptr<EmbeddedEngine> embedded;  ///< of any other, unless a recording answers for it

  std::mutex mutex;
  std::shared_ptr<const ReadyAccess> described;  ///< `http` with what the description document says
  Breaker breaker;
  LearnedWait learned_wait;
  int in_use = 0;   ///< places of max_connections, of an engine that blocks
  int overdue = 0;  ///< requests that nobody waits for any more and that are not in yet
  TimePoint overdue_since{};
  TimePoint last_success{};

  /// False when as many requests as max_connections allows are under way.
  bool take_place();
  void give_place();
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

class Embedder;

/// What all fetches of one fetcher share; tasks that outlive their fetch keep it alive.
struct SharedState {
  FetcherOptions options;
  const Clock* clock = nullptr;
  std::vector<std::unique_ptr<EngineState>> engines;
  LateLists late;
  std::shared_ptr<Embedder> embedder;
  std::mutex retry_mutex;
  double retry_tokens = 2;  ///< retries that the budget allows: a fifth of the requests

  EngineState* find(std::string_view name) const;
  /// True when the budget has a retry left, which is taken.
  bool take_retry();
  void earn_retry();
};

}  // namespace metafuse::fetchers
