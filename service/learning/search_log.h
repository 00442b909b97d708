#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/result.h"
#include "service/search/search_answer.h"
#include "service/store/store.h"

namespace metafuse::service {

/// What of an answer is stored.
///
/// in:  shown - positions in answer.results, in the order in which they were shown; secret - the store's;
///      are_queries_hashed - leave the slots' text out
/// out: a search within its limits
StoredSearch stored_search(const SearchAnswer& answer, std::span<const std::size_t> shown,
                           std::string_view secret, bool are_queries_hashed, UnixTime now);

/// Writes searches behind the answers, many to a transaction, so that no answer waits for the disk; flush()
/// before feedback makes the latest ones known. When the store cannot keep up or fails, new
/// searches are dropped and counted: they cannot be clicked, and are answered all the same.
class SearchLog {
 public:
  explicit SearchLog(Store& store, std::size_t max_waiting = 4096);
  SearchLog(const SearchLog&) = delete;
  SearchLog& operator=(const SearchLog&) = delete;
  /// Writes what waits.
  ~SearchLog();

  /// in: search - what was shown, its id and time left aside: one answer may be shown many times
  /// out: false when it was dropped
  bool add(std::shared_ptr<const StoredSearch> search, std::string id, UnixTime at);
  /// Blocks until everything added so far is written or dropped; then feedback finds it in the store.
  void flush();

  std::uint64_t dropped() const { return dropped_; }
  std::uint64_t written() const { return written_; }

 private:
  struct Shown {
    std::shared_ptr<const StoredSearch> search;
    std::string id;
    UnixTime at = 0;
  };
  void write_until_stopped();

  Store& store_;
  const std::size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable is_done_;
  std::vector<Shown> waiting_;
  std::uint64_t added_ = 0;
  std::uint64_t done_ = 0;
  bool is_stopping_ = false;
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> written_{0};
  std::thread writer_;
};

}  // namespace metafuse::service
