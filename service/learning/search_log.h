#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/deadline.h"
#include "core/recently_used.h"
#include "core/result.h"
#include "service/search/search_answer.h"
#include "service/store/store.h"

namespace metafuse::service {

/// The base query of an answer as StoredSearch::query.
std::string digest_of(const SearchAnswer& answer, const StoreIdentity& identity);

/// The record of an answer that is stored.
///
/// in:  shown - positions in answer.results, in the order in which they were shown
/// out: a search within SearchLimits that keeps all shown results, as far as their number is within them; for
///      the same answer within an hour an equal search, with the same id
StoredSearch stored_search(const SearchAnswer& answer, std::span<const std::size_t> shown,
                           const StoreIdentity& identity, UnixTime now);

/// The search of an answer that is sent again and again, perhaps for hours. Thread-safe.
class RepeatedSearch {
 public:
  explicit RepeatedSearch(std::shared_ptr<const StoredSearch> search) : latest_(std::move(search)) {}

  /// The search as it is stored when it is shown at a time: a search of its own in each hour. Else the clicks
  /// on an answer that is kept for long would be refused as too late.
  std::shared_ptr<const StoredSearch> at(std::string_view secret, UnixTime now);
  std::shared_ptr<const StoredSearch> latest() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const StoredSearch> latest_;
};

/// Counts written and dropped searches, and reports dropped ones at most once per minute.
class SearchCounts {
 public:
  using OnDrop = std::function<void(std::uint64_t dropped, const std::string& reason)>;

  void set_on_drop(OnDrop on_drop);
  void add_written(std::size_t searches) { written_ += searches; }
  /// Counts a dropped search without a report.
  void add_dropped() { ++dropped_; }
  /// Counts dropped searches and reports them.
  void report_dropped(std::size_t searches, const std::string& reason);
  std::uint64_t written() const { return written_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  std::mutex mutex_;
  OnDrop on_drop_;
  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::uint64_t unreported_ = 0;
  std::optional<TimePoint> reported_at_;
};

/// Writes searches to the store in the background, many per transaction, so that no answer waits for the
/// disk. Feedback calls flush() first, so that the store knows the latest searches. When the store cannot
/// keep up, fails or is full, new searches are dropped and counted: they are still answered, but cannot
/// be clicked.
class SearchLog {
 public:
  struct Options {
    std::size_t max_waiting = 4096;
    /// Beyond this the oldest searches are removed, and of one sender and day at most 1/kSharesOfDay of it is
    /// written; 0 for no limit.
    std::uint64_t max_bytes = 0;
    Duration gathers{};  ///< how long the first search of a batch waits for others
  };

  explicit SearchLog(Store& store) : SearchLog(store, Options{}) {}
  SearchLog(Store& store, Options options);
  SearchLog(const SearchLog&) = delete;
  SearchLog& operator=(const SearchLog&) = delete;
  /// Writes the waiting searches.
  ~SearchLog();

  /// From now on, the log's thread calls `on_drop` when searches were dropped, at most once per minute.
  void set_on_drop(SearchCounts::OnDrop on_drop) { counts_.set_on_drop(std::move(on_drop)); }
  static constexpr std::uint64_t kSharesOfDay = 16;

  /// Queues a search for writing.
  ///
  /// in:  search - what was shown; added again each time that it is shown; sender - whose share of the day's
  ///      bytes it takes, empty for nobody's
  /// out: false if it was dropped
  bool add(std::shared_ptr<const StoredSearch> search, const std::string& sender = {});
  /// Waits until everything added so far is written or dropped, so that feedback finds it in the store; at
  /// most `patience`.
  void flush(Duration patience = std::chrono::seconds(10));

  std::uint64_t dropped() const { return counts_.dropped(); }
  std::uint64_t written() const { return counts_.written(); }

 private:
  /// Why the first search of a batch does not wait for others: a caller waits in flush(), or the log ends.
  enum class Haste { none, flushing, stopping };

  bool fits_into_share(const StoredSearch& search, const std::string& sender);
  void write_until_stopped();
  Result<void> write(std::span<const std::shared_ptr<const StoredSearch>> shown);

  Store& store_;
  const Options options_;
  SearchCounts counts_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable is_done_;
  std::vector<std::shared_ptr<const StoredSearch>> waiting_;
  std::int64_t day_ = 0;                         ///< that of the counts below
  RecentlyUsed<std::uint64_t> bytes_of_sender_;  ///< of new searches on that day
  RecentlyUsed<char> known_;                     ///< the latest searches, which take no more bytes
  std::uint64_t done_ = 0;  ///< searches that were added and are no longer waiting or being written
  std::size_t in_work_ = 0;
  Haste haste_ = Haste::none;
  std::thread writer_;
};

}  // namespace metafuse::service
