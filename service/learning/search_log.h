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
#include <string_view>
#include <thread>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"
#include "service/search/search_answer.h"
#include "service/store/store.h"

namespace metafuse::service {

/// How searches are stored.
struct SearchStoring {
  std::string_view secret;          ///< the store's
  bool are_queries_hashed = false;  ///< leave out what slots and documents say
  std::string_view plain_slot;      ///< of the domain, see canonical_query()
};

/// What of an answer is stored.
///
/// in:  shown - positions in answer.results, in the order in which they were shown
/// out: a search within its limits; the same one, id and all, for the same answer within an hour
StoredSearch stored_search(const SearchAnswer& answer, std::span<const std::size_t> shown,
                           const SearchStoring& storing, UnixTime now);

/// Writes searches behind the answers, many to a transaction, so that no answer waits for the disk; flush()
/// before feedback makes the latest ones known. When the store cannot keep up, fails or is full, new searches
/// are dropped and counted: they cannot be clicked, and are answered all the same.
class SearchLog {
 public:
  struct Options {
    std::size_t max_waiting = 4096;
    std::uint64_t max_bytes = 0;  ///< the oldest searches make room beyond; 0 for no limit
    Duration gathers{};           ///< how long the first search waits for others to be written with it
  };
  using OnDrop = std::function<void(std::uint64_t dropped, const std::string& reason)>;

  explicit SearchLog(Store& store) : SearchLog(store, Options{}) {}
  SearchLog(Store& store, Options options);
  SearchLog(const SearchLog&) = delete;
  SearchLog& operator=(const SearchLog&) = delete;
  /// Writes what waits.
  ~SearchLog();

  /// From now on calls `on_drop` from the log's thread when searches were dropped, at most once a minute.
  void set_on_drop(OnDrop on_drop);
  /// in:  search - what was shown; the same one as often as it is
  /// out: false when it was dropped
  bool add(std::shared_ptr<const StoredSearch> search);
  /// Waits until everything added so far is written or dropped, so that feedback finds it in the store; not
  /// longer than `patience`.
  void flush(Duration patience = std::chrono::seconds(10));

  std::uint64_t dropped() const { return dropped_; }
  std::uint64_t written() const { return written_; }

 private:
  void write_until_stopped();
  Result<void> write(std::span<const std::shared_ptr<const StoredSearch>> shown);
  void note_dropped(std::size_t searches, const std::string& reason);
  OnDrop on_drop() const;

  Store& store_;
  const Options options_;
  mutable std::mutex mutex_;
  OnDrop on_drop_;
  std::condition_variable has_work_;
  std::condition_variable is_done_;
  std::vector<std::shared_ptr<const StoredSearch>> waiting_;
  std::uint64_t added_ = 0;
  std::uint64_t done_ = 0;
  bool is_stopping_ = false;
  bool is_hurried_ = false;  ///< somebody waits in flush()
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> written_{0};
  std::uint64_t unreported_ = 0;          ///< dropped since the last event; of the log's thread
  std::optional<TimePoint> reported_at_;  ///< of the log's thread
  std::thread writer_;
};

}  // namespace metafuse::service
