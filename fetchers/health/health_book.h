#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/query.h"
#include "core/result.h"
#include "fetchers/health/health_record.h"
#include "fetchers/model/engine.h"
#include "fetchers/model/fetched_list.h"

namespace metafuse::fetchers {

/// A query that an engine answered well, and the results. Queries of users are never kept.
struct KnownAnswer {
  std::string query;
  std::vector<Hit> hits;  ///< address, title and text
  std::int64_t at = 0;    ///< seconds since 1970

  friend bool operator==(const KnownAnswer&, const KnownAnswer&) = default;
};

/// The state of one engine, for people and for metrics.
struct EngineHealth {
  std::string engine;
  HealthState state = HealthState::works;
  Oddity sign = Oddity::any;
  bool is_suspected = false;
  bool is_learned = false;  ///< enough answers are known to judge by
  std::int64_t since = 0;   ///< of the state; 0 for the beginning
  std::int64_t last = 0;    ///< when an answer was last judged; 0 for never
  std::uint64_t answers = 0;
  std::optional<double> usual_results{};

  /// "changed since 2026-08-01: titles are missing"; empty for an engine that works.
  std::string text() const;
};

/// A change of an engine's state.
struct HealthChange {
  std::string engine;
  HealthState before = HealthState::works;
  HealthState now = HealthState::works;
  Oddity sign = Oddity::any;
};

/// An engine to be watched. A definition that has changed starts a new profile.
struct WatchedEngine {
  std::string name;
  std::string digest;  ///< of the definition
};

/// What identifies a definition: everything that its answers depend on.
WatchedEngine watched(const Engine& engine);

/// Everything that is known about the health of a server's engines. Safe from any thread.
class HealthBook {
 public:
  /// Watches these engines from now on, and forgets the others.
  void watch(const std::vector<WatchedEngine>& engines);
  /// Takes the lists of one search into account. Lists of engines that are not watched count only as what
  /// others found.
  ///
  /// in: sender - who asked: what may come from one sender's habits counts once in ten minutes
  std::vector<HealthChange> note(std::span<const FetchedList> lists, double patience_seconds,
                                 std::int64_t now, std::string_view sender = {});
  /// Takes the answer to a query of ours into account, and keeps its results if they are as usual.
  ///
  /// out: how the answer differs; nothing if it tells nothing
  std::optional<Oddities> note_own(const FetchedList& list, double patience_seconds, std::int64_t now,
                                   std::vector<HealthChange>* changes = nullptr);
  /// Marks lists without results of engines that are known to be broken as failed.
  void mark_broken(std::vector<FetchedList>& lists) const;

  std::vector<EngineHealth> all() const;
  std::optional<EngineHealth> find(std::string_view engine) const;
  std::vector<KnownAnswer> known(std::string_view engine) const;

  /// A JSON document that read() understands.
  std::string text() const;
  /// Replaces everything.
  ///
  /// errors: bad_data: not written by text()
  Result<void> read(std::string_view text, const std::string& name);
  /// Changes with every judged answer, so that a caller knows when to save.
  std::uint64_t changes() const;

 private:
  struct Entry {
    std::string digest;
    HealthRecord record;
    std::vector<KnownAnswer> known;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::uint64_t changes_ = 0;
};

/// The queries by which an engine is tried: those of its definition, else those that it answered before, else
/// common words. `count` of them, beginning with the one of this turn.
std::vector<std::string> queries_to_try(const Engine& engine, const std::vector<KnownAnswer>& known,
                                        std::size_t turn, std::size_t count);

/// Whether the server may try the engine by itself: it is asked over HTTP, without a key of its own (unless
/// the definition names known queries) and without a user's.
bool may_be_tried(const Engine& engine);

}  // namespace metafuse::fetchers
