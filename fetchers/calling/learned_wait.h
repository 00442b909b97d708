#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/deadline.h"
#include "core/recently_used.h"

// How long an engine is waited for, and who must do without it because it still owes answers. Senders choose
// what they ask, and with it how quickly an engine answers: a copy in the engine's cache comes at once, and
// some queries take seconds. Therefore nothing here lets one sender's queries decide for another sender.

namespace metafuse::fetchers {

struct LearnedWaitOptions {
  bool is_on = true;
  Duration floor = std::chrono::milliseconds(150);
  Duration ceiling = std::chrono::seconds(10);

  friend bool operator==(const LearnedWaitOptions&, const LearnedWaitOptions&) = default;
};

/// How long it is worth waiting for an engine: 1.5 times the 95th percentile of recent response times, within
/// a floor and a ceiling. For a sender with at least 16 response times, its own 64 latest count. For the
/// others, the 64 latest of all senders count, of which each has at most two. A plain value; the caller does
/// the locking.
class LearnedWait {
 public:
  void add(const std::string& sender, Duration latency);
  /// How long `sender` waits; nullopt until 16 response times are known.
  std::optional<Duration> limit(const std::string& sender, const LearnedWaitOptions& options = {}) const;
  /// The same response times, in ascending order and without outliers: those beyond 2.5 times the 75th
  /// percentile. Empty until 16 are known.
  std::vector<Duration> usual(const std::string& sender) const;
  /// The shortest of the same response times; nullopt until 16 are known.
  std::optional<Duration> quickest(const std::string& sender) const;

 private:
  struct Own {
    std::vector<Duration> latencies;  ///< a ring once it is full
    std::size_t count = 0;
  };
  struct Shared {
    std::string sender;
    Duration latency;
  };

  void add_own(const std::string& sender, Duration latency);
  void add_shared(const std::string& sender, Duration latency);
  const Own* own(const std::string& sender) const;
  std::vector<Duration> shared_latencies() const;

  RecentlyUsed<Own> own_;       ///< of the senders that asked last
  std::vector<Shared> shared_;  ///< the oldest first
};

/// The time by which half of the searches that ask engines with these response times have all answers.
///
/// in:     times - of each engine, ascending, not empty; at least one engine
/// cost:   O(n log n) for n times in all
Duration usual_of_slowest(std::span<const std::vector<Duration>> times);

/// The requests to an engine that nobody waits for any more and that are still unanswered. A plain value; the
/// caller does the locking.
class OverdueRequests {
 public:
  /// in:     is_certain - it took longer than the engine's own limit, and not only than usual
  void add(const std::string& sender, TimePoint now, bool is_certain);
  /// The request of `sender` that is overdue for longest was answered.
  void remove(const std::string& sender);
  /// Whether `sender` should do without the engine: it owes this sender an answer that is certainly overdue,
  /// or two answers, or one to each of two others, and has not answered anybody since. (One answer in twenty
  /// may be late with nothing wrong.)
  bool keep_away(const std::string& sender, TimePoint last_answer) const;

 private:
  struct Request {
    std::string sender;
    TimePoint since;
    bool is_certain;
  };
  std::vector<Request> requests_;
};

}  // namespace metafuse::fetchers
