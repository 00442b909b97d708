#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "service/config/snapshot.h"
#include "service/learning/curation.h"
#include "service/search/search_answer.h"
#include "service/store/store.h"

// What people decided about single queries, as searches apply it: judgments and curation.

namespace metafuse::service {

struct QueryDecisions {
  std::map<std::string, int>
      grades;  ///< by document as it is stored; empty if judged results do not come first
  CuratedQuery curated;
};

struct DomainDecisions {
  std::map<std::string, QueryDecisions> queries;  ///< by StoredSearch::query
  Synonyms synonyms;
};

/// How a domain's decisions are read.
struct DecisionOptions {
  bool are_judged_first = true;
  StoreIdentity identity;
  const TrackingParameters* tracking = nullptr;
};

/// Each domain's decisions, read from the store when they are first needed after a change. A thread reads
/// them, so that no search waits long for a slow store. Thread-safe.
class Decisions {
 public:
  explicit Decisions(Store& store);
  Decisions(const Decisions&) = delete;
  Decisions& operator=(const Decisions&) = delete;
  ~Decisions();

  /// A domain's decisions; the earlier ones if the store takes more than 100 ms or fails, none if it
  /// takes more than two seconds for the first ones.
  ///
  /// cost: after a change, the thread reads all of the domain's judgments
  std::shared_ptr<const DomainDecisions> of(const std::string& domain, const DecisionOptions& options);
  /// Says that a domain's judgments or curation have changed.
  void note(const std::string& domain);
  /// Looks whether another server of the store changed them.
  Result<void> look(const std::string& domain);
  /// Grows with every change, so that rendered answers from before it are not sent again.
  std::uint64_t changes() const { return changes_; }

 private:
  struct Entry {
    bool is_stale = true;
    std::string marks;  ///< of what was read last, or of what look() saw since
    std::shared_ptr<const DomainDecisions> decisions = std::make_shared<const DomainDecisions>();
    bool was_read = false;
    int under_way = 0;  ///< times that it is being read or waits for that
    std::chrono::steady_clock::time_point awaited_until{};
  };
  /// A domain to read, with copies of its options, which may be gone by then.
  struct Wanted {
    std::string domain;
    DecisionOptions options;
    std::string secret, plain_slot;
    TrackingParameters tracking;
  };

  void read_until_stopped();
  void read(const Wanted& wanted);

  Store& store_;
  std::mutex mutex_;
  std::condition_variable is_wanted_;
  std::condition_variable was_read_;
  std::map<std::string, Entry> entries_;
  std::deque<Wanted> wanted_;
  bool is_stopping_ = false;
  std::atomic<std::uint64_t> changes_{0};
  std::thread reader_;
};

/// The latest curation of a domain as text, kNoCuration if there is none, with the number of its version (0).
struct StoredCuration {
  std::string text{kNoCuration};
  std::uint32_t number = 0;
};
Result<StoredCuration> stored_curation(Store& store, std::string_view domain);

/// An answer after what people decided: pinned results first, then added ones, then those that judges graded
/// highly (at least half of the query's best grade, best first), then the rest as it was, then those of grade
/// 0, so within each window. Hidden results are at the end, beyond `hidden`, because they stay part of the
/// stored lists. What is folded below results is decided about likewise: a pinned or added one comes up, a
/// hidden one goes, and what is folded below a hidden result takes its place.
SearchAnswer decided_answer(const SearchAnswer& answer, const QueryDecisions& decisions,
                            const StoreIdentity& identity);

}  // namespace metafuse::service
